#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ronde/base/log.h"
#include "ronde/bench/bench.h"
#include "ronde/data/pipeline_options.h"
#include "ronde/data/source.h"

namespace ronde::bench {

struct DataOptions {
  data::SourceOptions source = {};  // what is read, as training reads it; no path: only what is generated
  data::PipelineOptions pipeline = {};
  std::int64_t batch = 64;
  int turns = 5;
  bool compare = false;     // with torch's DataLoader and tf.data, where Python has them
  std::string python = {};  // the interpreter that has them
  Log log = Log();
};

// How fast samples are prepared, beside what limits them: decoding alone on the same cores, and storage alone. A row
// for the files and one for generated photographs of 500 x 375; a section with the stages of each. FAILS WITH:
// BadInput, System; as data::open_source().
Report run_data(const DataOptions& options);

// How fast the samples of options.source are read, without decoding, from each format that can hold them: from the disk
// and from the page cache, in order and shuffled. Copies are written beside each other into a folder of `parent`.
// FAILS WITH: BadInput, System.
Report run_data_formats(const DataOptions& options, const std::filesystem::path& parent);

}  // namespace ronde::bench
