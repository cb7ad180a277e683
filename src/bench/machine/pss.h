#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>

namespace ronde::bench::detail {

// The proportional set size, in bytes, from the text of /proc/self/smaps_rollup: pages that several processes use count
// for each in part. Zero where it is something else. Pure.
std::uint64_t parse_pss(std::string_view rollup);

// Watches this process as long as it lives, about every millisecond.
class PssPeak {
 public:
  PssPeak();
  std::uint64_t bytes() const { return peak_; }

 private:
  std::atomic<std::uint64_t> peak_ = 0;
  std::jthread thread_;
};

}  // namespace ronde::bench::detail
