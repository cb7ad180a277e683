#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/data/records.h"

namespace ronde::data {

// What some data holds, found by reading some of its samples.
struct Inspection {
  struct NamedArray {
    std::string name;
    std::string type;          // "u8[?,?,3]": what differs between samples is a question mark; "mixed" types likewise
    std::int64_t samples = 0;  // of those that were read, how many have it
  };
  struct Bad {
    std::string where, why;
  };
  struct Sizes {
    std::uint64_t least = 0, median = 0, most = 0;  // bytes of a sample
  };

  std::string path, format;
  std::int64_t samples = 0;
  std::vector<std::string> classes = {};
  std::int64_t files = 0;  // that it consists of; 0: one for each sample, or not known
  std::int64_t chunks = 0;
  std::int64_t read = 0;  // how many samples the rest is about
  std::vector<NamedArray> arrays = {};
  Sizes sizes = {};
  std::vector<std::string> keys = {};  // the first few
  std::vector<Bad> bad = {};           // of those that were to be read
};

// Opens the data and reads up to `most` samples, from all over it. FAILS WITH: as open_records().
Inspection inspect(const RecordsOptions& options, std::int64_t most = 100);

// Where a sample lies, or its number where even that cannot be told.
std::string where_or_number(const Records& records, std::int64_t index);

}  // namespace ronde::data
