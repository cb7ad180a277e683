#include "ronde/launch/process/signals.h"

namespace ronde::launch::detail {
namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals(std::initializer_list<int> signals) {
  change(SIGPIPE, SIG_IGN);
  change(SIGTTIN, SIG_IGN);
  change(SIGCHLD, SIG_DFL);  // ignored, children would vanish without saying how they ended
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals)
    if (!is_ignored(signal)) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  descriptor_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (descriptor_) return;
  const int number = errno;
  restore();
  throw Error::system(number, "cannot watch for signals");
}

void Signals::change(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  saved_.push_back({signal, {}});
  sigaction(signal, &action, &saved_.back().action);
}

std::optional<signalfd_siginfo> Signals::next() const {
  signalfd_siginfo signal{};
  if (read(descriptor_.get(), &signal, sizeof(signal)) != sizeof(signal)) return {};
  return signal;
}

void Signals::restore() const noexcept {
  for (const Saved& saved : saved_) sigaction(saved.signal, &saved.action, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace ronde::launch::detail
