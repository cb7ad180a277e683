#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ronde {

// Decides on which row of the timeline a piece of a GPU's work is shown, so that spans of one row follow one another.
// The work of a stream nearly does: but parallel branches of a CUDA graph share a stream, a kernel may be let in before
// the one ahead of it has left, and pieces may be told of late. What overlaps gets a row beside. Not thread-safe.
class GpuRows {
 public:
  // Times of neighbours are converted by themselves and can overlap by that much without meaning it; then the later one
  // is shown as beginning where the other ends.
  static constexpr std::int64_t kSlackNs = 2'000;
  static constexpr std::size_t kMostRows = 8;  // of a stream

  struct Place {
    std::size_t row = 0;        // counted over all streams, in the order in which they are first used
    std::int64_t begin_ns = 0;  // where it is to begin
  };
  // Nothing: all rows of the stream are taken for the whole of it.
  std::optional<Place> place(int device, std::uint32_t stream, std::int64_t begin_ns, std::int64_t end_ns);

  std::size_t size() const { return size_; }

 private:
  struct Row {
    std::size_t number = 0;
    std::int64_t end_ns = 0;  // of the last piece on it
  };
  std::map<std::pair<int, std::uint32_t>, std::vector<Row>> rows_;
  std::size_t size_ = 0;
};

}  // namespace ronde
