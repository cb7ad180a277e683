#pragma once

#include "ronde/base/log.h"
#include "ronde/data/loader.h"
#include "ronde/data/order/split.h"
#include "ronde/train/options.h"
#include "ronde/train/session.h"

namespace ronde::train {

// The samples that data.* asks for. Rank 0 reads the files first, so that it makes the index that the others find.
// FAILS WITH: BadInput, System; as data::open_parts().
data::Parts open_data(const Session& session);

// How samples are prepared, by data.threads, .memory, .prefetch and .on_error; what is to be said goes to the log.
data::PipelineOptions pipeline_of(const Session& session);

// Chunks that are mixed, by data.shuffle and data.window; 0: anything anywhere.
std::int64_t window_of(const TrainingOptions& options);

// One sentence on what limits the input, from what its stages did; for a training that waited for it.
// Pure.
std::string why_input_waits(const std::vector<data::StageStats>& stages);

}  // namespace ronde::train
