#include "ronde/cli/program/progress_bar.h"

#include <algorithm>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/terminal.h"
#include "ronde/cli/program/terminal_size.h"

namespace ronde::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kQuiet = 500ms;  // what takes less is not shown at all
constexpr std::chrono::nanoseconds kRedraw = 100ms, kLine = 5s;

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

std::string bar_text(const BarFacts& facts, std::size_t width) {
  const double seconds = std::chrono::duration<double>(facts.time).count();
  const double rate = seconds > 0 ? static_cast<double>(facts.done - facts.since) / seconds : 0;
  std::string tail = fmt::format("{} {}", grouped(facts.done), facts.things);
  if (facts.all > 0) tail = fmt::format("{} of {} {}", grouped(facts.done), grouped(facts.all), facts.things);
  if (rate > 0)
    tail += fmt::format("  {}/s", rate < 10 ? fmt::format("{:.1f}", rate) : grouped(static_cast<std::int64_t>(rate)));
  if (facts.all > 0 && rate > 0) {
    const auto left = static_cast<std::int64_t>(static_cast<double>(facts.all - facts.done) / rate);
    tail += fmt::format("  {}:{:02} left", left / 60, left % 60);
  }
  std::string text(facts.doing);
  if (facts.all > 0) {
    const double share = static_cast<double>(facts.done) / static_cast<double>(facts.all);
    const std::size_t others = text.size() + tail.size() + 14;
    if (width > others + 5) {
      const std::size_t room = std::min<std::size_t>(width - others, 30);
      const auto full = static_cast<std::size_t>(share * static_cast<double>(room));
      text += fmt::format("  [{}{}]", std::string(full, '#'), std::string(room - full, ' '));
    }
    text += fmt::format("  {:3.0f} %", 100 * share);
  }
  text += "  " + tail;
  return text.substr(0, width);
}

struct ProgressBar::State {
  const std::string doing, things;
  const bool terminal = is_terminal(stderr);
  const std::chrono::nanoseconds began = monotonic_now();
  Mutex mutex;
  std::chrono::nanoseconds shown RONDE_GUARDED_BY(mutex) = began + kQuiet - kRedraw;
  std::int64_t since RONDE_GUARDED_BY(mutex) = -1;
  std::int64_t most RONDE_GUARDED_BY(mutex) = 0;
  bool there RONDE_GUARDED_BY(mutex) = false;

  State(std::string doing_text, std::string things_text)
      : doing(std::move(doing_text)), things(std::move(things_text)) {}
  ~State() {
    const Lock lock(mutex);
    wipe();
  }

  void wipe() RONDE_REQUIRES(mutex) {
    if (there) fmt::print(stderr, "\r\x1b[K");
    there = false;
  }
};

ProgressBar::ProgressBar(std::string doing, std::string things)
    : state_(std::make_shared<State>(std::move(doing), std::move(things))) {}

void ProgressBar::operator()(std::int64_t done, std::int64_t all) const {
  State& state = *state_;
  const Lock lock(state.mutex);
  if (state.since < 0) state.since = done;
  state.most = std::max(state.most, done);  // threads may report in any order
  const auto now = monotonic_now();
  if (now - state.shown < (state.terminal ? kRedraw : kLine)) return;
  state.shown = now;
  const BarFacts facts{state.doing, state.things, state.most, all, now - state.began, state.since};
  if (state.terminal) {
    fmt::print(stderr, "\r{}\x1b[K", bar_text(facts, terminal_size(stderr).columns - 1));
    state.there = true;
  } else {
    fmt::print(stderr, "{}\n", bar_text(facts, 200));
  }
  std::fflush(stderr);
}

void ProgressBar::clear() const {
  const Lock lock(state_->mutex);
  state_->wipe();
}

}  // namespace ronde::cli
