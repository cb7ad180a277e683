#pragma once

#include <cstdint>
#include <set>

namespace ronde::comm::detail {

// Small numbers for what comes and goes, from 1 on: the lowest that nobody has. Ranks that take and give back in the
// same order have the same ones.
class Slots {
 public:
  std::uint32_t take() {
    if (free_.empty()) return ++taken_;
    const std::uint32_t lowest = *free_.begin();
    free_.erase(free_.begin());
    return lowest;
  }
  // What take() would return.
  std::uint32_t next() const { return free_.empty() ? taken_ + 1 : *free_.begin(); }
  // REQUIRES: it was taken.
  void give_back(std::uint32_t slot) { free_.insert(slot); }

 private:
  std::uint32_t taken_ = 0;  // so many at once, at most
  std::set<std::uint32_t> free_;
};

}  // namespace ronde::comm::detail
