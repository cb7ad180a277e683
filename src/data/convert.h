#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/data/record_writer.h"
#include "ronde/data/records.h"

namespace ronde::data {

struct Converted {
  std::int64_t samples = 0;
  std::uint64_t bytes = 0;  // of all arrays
};

// What can be written: writer_formats(), and pack.
std::vector<std::string> convert_formats();

// Writes all samples of `from` in another format, in their order, with the names of the classes; a sample's own "key"
// is its key, otherwise what the format calls it (numbers get zeros before them, so that names have the order of
// numbers). Nothing is there under the new name until all of it is. FAILS WITH: BadInput, System: what reading and
// writing fail with; the message names the sample.
Converted convert(const RecordsOptions& from, const WriterOptions& to, const Progress& progress = {});

}  // namespace ronde::data
