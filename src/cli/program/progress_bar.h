#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace ronde::cli {

// "packing  [#####     ]  50 %  505 of 1,010 samples  812/s  0:01 left", never wider than `width`; without a bar and
// what is left where it is not known how many there are.
struct BarFacts {
  std::string_view doing, things;
  std::int64_t done = 0, all = 0;  // all 0: not known
  std::chrono::nanoseconds time{0};
  std::int64_t since = 0;  // what was done before the time began
};
std::string bar_text(const BarFacts& facts, std::size_t width);

// Shows how far something long has come, on standard error: on a terminal a line that is drawn over and over, elsewhere
// a line every few seconds. What is done at once shows nothing. Copies are the same bar. Safe to call from any thread.
//
//   ProgressBar bar("packing", "samples");
//   make_pack(records, {.progress = bar});
class ProgressBar {
 public:
  ProgressBar(std::string doing, std::string things);

  void operator()(std::int64_t done, std::int64_t all) const;
  void clear() const;  // takes it away, so that something else can be printed

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ronde::cli
