#include "ronde/launch/run/outcome.h"

#include <sys/wait.h>

#include <cctype>
#include <cstring>

#include "ronde/base/text/format.h"

namespace ronde::launch {

Outcome Outcome::from_status(int status) {
  if (WIFSIGNALED(status)) return {.code = 0, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

std::string name_of_signal(int signal) {
  std::string text = strsignal(signal);
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return fmt::format("signal {} ({})", signal, text);
}

std::string describe(const Outcome& outcome) {
  return outcome.signal != 0 ? name_of_signal(outcome.signal) : fmt::format("exit code {}", outcome.code);
}

void Verdict::rank_ended(int rank, const Outcome& outcome) {
  if (!failure_ && !interrupt_ && outcome.failed()) failure_ = {rank, outcome};
  continued_ = continued_ || outcome.to_be_continued();
  broken_ = broken_ || outcome.failed();
}

void Verdict::interrupted(int signal) {
  if (!failure_ && !interrupt_) interrupt_ = signal;
}

int Verdict::exit_code() const {
  if (failure_) return failure_->outcome.exit_code();
  if (continued_ && !broken_) return kToBeContinued;
  return interrupt_ ? 128 + *interrupt_ : 0;
}

std::string Verdict::last_words(const std::string& host, std::span<const std::string> tail, const Paint& paint) const {
  if (interrupt_)
    return fmt::format("stopped by {}{}\n", name_of_signal(*interrupt_),
                       exit_code() == kToBeContinued ? ", to be continued" : "");
  if (!failure_) return {};
  std::string text;
  if (!tail.empty()) {
    const std::string lines = tail.size() == 1 ? "line" : fmt::format("{} lines", tail.size());
    text = paint.dim(fmt::format("--- the last {} of rank {}:", lines, failure_->rank)) + "\n";
  }
  for (const std::string& line : tail) text += "  " + line + "\n";
  return text +
         paint.red(fmt::format("rank {} on {} failed first: {}", failure_->rank, host, describe(failure_->outcome))) +
         "\n";
}

}  // namespace ronde::launch
