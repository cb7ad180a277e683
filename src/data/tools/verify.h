#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/data/records.h"

namespace ronde::data {

struct VerifyOptions {
  RecordsOptions records = {};
  int threads = 0;         // 0: one a core
  bool decode = false;     // pictures: all pixels, rather than the header
  Progress progress = {};  // in samples
};

// What reading all of some data found.
struct Verification {
  struct Bad {
    std::int64_t index = -1;  // of the sample; -1: a file as a whole
    std::string where, why;
  };

  std::string format;
  std::int64_t samples = 0;
  std::uint64_t bytes = 0;
  std::int64_t pictures = 0;  // that were looked into
  std::vector<Bad> bad = {};  // in the order of the samples, files last
};

// Reads every sample, on several threads: checksums, headers of pictures, classes that are outside of the classes. Of
// packs also the checksum of each shard, which covers what no sample does. One bad sample does not hide the next.
// FAILS WITH: as open_records().
Verification verify(const VerifyOptions& options);

}  // namespace ronde::data
