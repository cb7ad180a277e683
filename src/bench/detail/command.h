#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

// What the benchmark asks of a contestant, and how a contestant takes the time. The standard library alone: peers that
// know nothing else of Ronde include it.
namespace ronde::bench::detail {

// One line of text, its parts with blanks between. The answer is one line as well, a Timing, or "-" from who cannot do
// it. All ranks of a contestant get the command, the lowest answers.
struct Command {
  std::string what = "allreduce";
  std::string dtype = "f32";
  std::size_t bytes = 0;
  int warm_up = 0;  // rounds before the clock runs
  int batches = 1;  // the median of these is the answer,
  int rounds = 1;   // each the mean of so many rounds: one round may be too short for the clock
};

inline std::string write_command(const Command& command) {
  std::ostringstream line;
  line << command.what << ' ' << command.dtype << ' ' << command.bytes << ' ' << command.warm_up << ' '
       << command.batches << ' ' << command.rounds;
  return line.str();
}

// Nothing for a line that is no command.
inline std::optional<Command> read_command(const std::string& line) {
  Command command;
  std::istringstream words(line);
  if (words >> command.what >> command.dtype >> command.bytes >> command.warm_up >> command.batches >> command.rounds)
    return command;
  return {};
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The value that nine of ten do not exceed.
inline double ninth_tenth(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() * 9 - 1) / 10);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// What a contestant answers: microseconds; and where it times rounds one by one, their median and ninth tenth.
struct Timing {
  // NOLINTNEXTLINE(google-explicit-constructor): most contestants answer with one number
  Timing(double microseconds) : us(microseconds) {}
  double us;
  std::optional<double> p50_us = {}, p90_us = {};
};

// "1.25", or "1.25 1.2 1.5".
inline std::string write_timing(const Timing& timing) {
  std::ostringstream line;
  line << timing.us;
  if (timing.p50_us && timing.p90_us) line << ' ' << *timing.p50_us << ' ' << *timing.p90_us;
  return line.str();
}

// Nothing for a line that is no answer.
inline std::optional<Timing> read_timing(const std::string& line) {
  std::istringstream words(line);
  double us = 0, p50 = 0, p90 = 0;
  if (!(words >> us)) return {};
  Timing timing(us);
  if (words >> p50 >> p90) timing.p50_us = p50, timing.p90_us = p90;
  words.clear();
  std::string rest;
  return words >> rest ? std::nullopt : std::optional(timing);
}

namespace timing {

// Microseconds per round, of one batch after the other.
template <class Round>
std::vector<double> batches_of(int batches, int rounds, const Round& round) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i) round();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / rounds);
  }
  return times;
}

}  // namespace timing

// Microseconds that `round()` takes.
template <class Round>
double time_rounds(const Command& command, Round round) {
  for (int i = 0; i < command.warm_up; ++i) round();
  return median(timing::batches_of(command.batches, command.rounds, round));
}

// The same, and then as many rounds as a batch has, each by itself. Rounds that are long are batches already.
template <class Round>
Timing time_each_round(const Command& command, Round round) {
  for (int i = 0; i < command.warm_up; ++i) round();
  const std::vector<double> batches = timing::batches_of(command.batches, command.rounds, round);
  const std::vector<double> each = command.rounds == 1 ? batches : timing::batches_of(command.rounds, 1, round);
  Timing timing(median(batches));
  timing.p50_us = median(each);
  timing.p90_us = ninth_tenth(each);
  return timing;
}

}  // namespace ronde::bench::detail
