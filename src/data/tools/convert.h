#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/data/records.h"
#include "ronde/data/tools/record_writer.h"

namespace ronde::data {

struct Converted {
  std::int64_t samples = 0;
  std::uint64_t bytes = 0;      // of all arrays
  std::int64_t went_on_at = 0;  // samples that an earlier call had written
};

struct ConvertOptions {
  int threads = 0;         // that read and encode; 0: one a core
  bool overwrite = false;  // what an earlier call with another source or format has begun goes
  std::uint64_t save_bytes = std::uint64_t{64} << 20;  // of samples, after which what is written is kept for good
  Progress progress = {};                              // in samples
};

// What can be written: writer_formats(), and pack.
std::vector<std::string> convert_formats();

// Writes all samples in another format, in their order, with the names of the classes; a sample's own "key" is its key,
// otherwise what the format calls it (numbers get zeros before them, so that names have the order of numbers). Nothing
// is there under the new name until all of it is; the number of threads changes nothing in the bytes. What a call that
// was interrupted, even killed, had saved is kept, and the same call again goes on from there: all formats but lmdb and
// hdf5, which begin anew.
// FAILS WITH: BadInput: what an earlier call has begun from another source or in another format; what reading and
// writing fail with, where the message names the sample, and nothing stays of it; System: a disk that is full or cannot
// be read, of which the same call again goes on.
Converted convert(const Records& from, const WriterOptions& to, const ConvertOptions& options = {});
Converted convert(const RecordsOptions& from, const WriterOptions& to, const ConvertOptions& options = {});

}  // namespace ronde::data
