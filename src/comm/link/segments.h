#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ronde::comm::detail {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Pieces of memory that are treated as one after the other, so that tensors which are reduced together need not be
// copied together first.
class Segments {
 public:
  Segments() = default;
  explicit Segments(Bytes whole) { add(whole); }

  void add(std::span<std::byte> piece) {
    if (piece.empty()) return;
    // Tensors that lie behind one another, such as views into one buffer, are one piece.
    if (!pieces_.empty() && pieces_.back().memory.data() + pieces_.back().memory.size() == piece.data()) {
      pieces_.back().memory = {pieces_.back().memory.data(), pieces_.back().memory.size() + piece.size()};
    } else {
      pieces_.push_back({size_, piece});
    }
    size_ += piece.size();
  }

  std::size_t size() const { return size_; }
  std::size_t pieces() const { return pieces_.size(); }
  // The memory, if it is one piece; otherwise nothing.
  std::byte* contiguous() const { return pieces_.size() == 1 ? pieces_.front().memory.data() : nullptr; }

  // Calls use(std::span<std::byte> piece, std::size_t at) for the pieces of [begin, end), `at` counted from begin.
  template <class Use>
  void for_range(std::size_t begin, std::size_t end, Use use) const {
    if (begin >= end) return;
    const auto after = [](std::size_t offset, const Piece& piece) { return offset < piece.start; };
    auto piece = std::prev(std::upper_bound(pieces_.begin(), pieces_.end(), begin, after));
    for (std::size_t at = begin; at < end; ++piece) {
      const std::size_t skip = at - piece->start, bytes = std::min(piece->memory.size() - skip, end - at);
      use(piece->memory.subspan(skip, bytes), at - begin);
      at += bytes;
    }
  }

 private:
  struct Piece {
    std::size_t start;
    std::span<std::byte> memory;
  };
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

}  // namespace ronde::comm::detail
