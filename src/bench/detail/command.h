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

// One line of text, its parts with blanks between. The answer is one line as well: microseconds, or "-" from who cannot
// do it. All ranks of a contestant get the command, the lowest answers.
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

// Microseconds that `round()` takes.
template <class Round>
double time_rounds(const Command& command, Round round) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < command.warm_up; ++i) round();
  std::vector<double> batches;
  for (int batch = 0; batch < command.batches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < command.rounds; ++i) round();
    batches.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / command.rounds);
  }
  return median(std::move(batches));
}

}  // namespace ronde::bench::detail
