#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ronde/data/order/batch_plan.h"

namespace ronde::data::files {

// Long enough that a disk that must seek, or a parallel file system, spends most of its time reading.
constexpr std::uint64_t kRunBytes = std::uint64_t{8} << 20;

// The samples of several files cut into runs of about kRunBytes, none of them in two files. `samples(file)` is how many
// a file has, `bytes(file, sample)` how long one is.
template <class Samples, class Bytes>
std::vector<Range> runs_of(std::size_t files, const Samples& samples, const Bytes& bytes) {
  std::vector<Range> runs;
  std::int64_t begin = 0, at = 0;
  for (std::size_t file = 0; file < files; ++file) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < samples(file); ++i) {
      sum += bytes(file, i);
      ++at;
      if (sum < kRunBytes) continue;
      runs.push_back({begin, at});
      begin = at;
      sum = 0;
    }
    if (begin < at) runs.push_back({begin, at});
    begin = at;
  }
  return runs;
}

// In which of several files a sample lies, and which one of that file it is. `first` gives the number of a file's first
// sample. REQUIRES: that of the first file is 0, and there is such a sample.
template <class Files, class First = std::identity>
std::pair<std::size_t, std::int64_t> find_file(const Files& files, std::int64_t index, First first = {}) {
  const auto after = std::ranges::upper_bound(files, index, {}, first);
  const auto file = static_cast<std::size_t>(after - std::ranges::begin(files)) - 1;
  return {file, index - std::invoke(first, files[file])};
}

}  // namespace ronde::data::files
