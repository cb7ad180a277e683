#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::data {

// What a step of a pipeline has done so far. Times are sums over its threads.
struct StageStats {
  std::string name = {};
  int threads = 1;
  bool waits = false;                    // mostly for storage: its time is no processor time
  std::chrono::nanoseconds busy{0};      // at work
  std::chrono::nanoseconds input{0};     // waiting for what comes before
  std::chrono::nanoseconds room{0};      // waiting for what comes after, or for memory
  std::int64_t runs = 0, samples = 0;    // finished
  std::int64_t bytes = 0;                // that came out
  std::int64_t ready = 0, capacity = 0;  // runs that wait to be taken, now, and the most that may

  double busy_share() const;  // of its threads' time
};

// What they did between two moments. REQUIRES: the same stages in the same order.
std::vector<StageStats> difference(const std::vector<StageStats>& now, const std::vector<StageStats>& before);

// The stage that the others wait for: its threads are nearly always busy, while those after it wait for input. Empty
// when none is busy for that share of its time: whoever takes the batches is slower than all of them. Pure.
std::string limiting_stage(const std::vector<StageStats>& stages, double least_busy = 0.8);

// A line for each, in columns, for people.
std::string to_text(const std::vector<StageStats>& stages, std::chrono::nanoseconds elapsed);

}  // namespace ronde::data
