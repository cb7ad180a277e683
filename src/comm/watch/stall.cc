#include "ronde/comm/watch/stall.h"

#include <fstream>

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"

namespace ronde::comm::detail {

std::string write_titles(std::span<const std::string> titles) {
  return join(titles, "\n");
}

std::vector<std::string> join_titles(std::span<const std::string> told) {
  std::vector<std::string> all;
  for (const std::string& lines : told)
    for (const std::string_view title : split(lines, '\n'))
      if (!title.empty() && std::ranges::find(all, title) == all.end()) all.emplace_back(title);
  return all;
}

std::string write_answer(const StallAnswer& answer) {
  std::string text(1, answer.give_up ? '!' : '.');
  for (const bool has : answer.has) text += has ? '1' : '0';
  return text + "\n" + answer.doing;
}

StallAnswer read_answer(const std::string& text) {
  StallAnswer answer;
  const std::size_t end = std::min(text.find('\n'), text.size());
  answer.give_up = text.starts_with('!');
  for (std::size_t i = 1; i < end; ++i) answer.has.push_back(text[i] == '1');
  if (end < text.size()) answer.doing = text.substr(end + 1);
  return answer;
}

std::vector<Stall> find_stalls(std::span<const std::string> titles, std::span<const StallAnswer> answers) {
  std::vector<Stall> stalls;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    Stall stall{.title = titles[i]};
    for (std::size_t member = 0; member < answers.size(); ++member) {
      const bool has = i < answers[member].has.size() && answers[member].has[i];
      (has ? stall.waiting : stall.missing).push_back(static_cast<int>(member));
    }
    if (!stall.missing.empty() && !stall.waiting.empty()) stalls.push_back(std::move(stall));
  }
  return stalls;
}

std::string describe_stall(const Stall& stall, const std::string& elapsed, std::span<const std::string> doing) {
  return fmt::format("{} has waited {} for {}", stall.title, elapsed, join(doing, ", "));
}

std::optional<std::chrono::nanoseconds> next_question(StallTimes due, std::chrono::nanoseconds asked,
                                                      std::chrono::nanoseconds pause) {
  auto first = due.warn;
  if (first.count() == 0 || (due.abort.count() > 0 && due.abort < first)) first = due.abort;
  if (first.count() == 0) return {};
  return asked < first ? first : asked + std::max(first / 4, pause);
}

namespace {

// Its letter in /proc: 'T' and 't' are stopped, 'Z' and 'X' ended; none: there is no such process.
std::optional<char> state_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // "77 (name) T ...": the name may hold anything, also parentheses.
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || end + 2 >= line.size()) return {};
  return line[end + 2];
}

}  // namespace

bool process_has_ended(int pid) {
  const auto state = state_of(pid);
  return !state || *state == 'Z' || *state == 'X';
}

bool process_is_stopped(int pid) {
  const auto state = state_of(pid);
  return state == 'T' || state == 't';
}

}  // namespace ronde::comm::detail
