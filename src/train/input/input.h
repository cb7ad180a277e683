#pragma once

#include "ronde/base/log.h"
#include "ronde/data/dataset.h"
#include "ronde/data/order/split.h"
#include "ronde/train/options.h"
#include "ronde/train/session.h"

namespace ronde::train {

// The samples that data.* asks for. Rank 0 reads the files first, so that it makes the index that the others find.
// FAILS WITH: BadInput, System; as data::open_parts().
data::Parts open_data(const Session& session);

// How samples are prepared, by data.threads, .memory, .prefetch and .on_error; what is to be said goes to the log.
data::PipelineOptions pipeline_of(const Session& session);

// A rank's part of one global batch after the other, as data.shuffle, train.batch and train.epochs ask for, in the
// order of that seed. Whole batches only. Pure. REQUIRES: `samples` outlives it.
data::Dataset training_data(const TrainingOptions& options, const data::Source& samples, std::uint64_t seed, int rank,
                            int ranks);

// The same, once, in the order of the source; the last batch may be short.
data::Dataset evaluation_data(const data::Source& samples, std::int64_t batch, int rank, int ranks);

// One sentence on what limits the input, from what its stages did; for a training that waited for it.
// Pure.
std::string why_input_waits(const std::vector<data::StageStats>& stages);

}  // namespace ronde::train
