#include "ronde/train/session/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>

#include <time.h>
#include <unistd.h>

namespace ronde::train {
namespace {

// A signal handler reaches nothing else.
std::atomic<int> times{0};                   // of SIGINT
std::atomic<std::int64_t> terminated_at{0};  // the first SIGTERM, in nanoseconds; 0: none yet
std::atomic<bool> warned{false};             // by SIGUSR1

extern "C" void note_interrupt(int /*signal*/) {
  if (times.fetch_add(1) > 0) _exit(kInterruptedExit);
}

extern "C" void note_terminate(int /*signal*/) {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t time = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  std::int64_t first = 0;
  if (terminated_at.compare_exchange_strong(first, time)) return;
  if (time - first > std::chrono::nanoseconds(Interrupt::kEcho).count()) _exit(kTerminatedExit);
}

extern "C" void note_warning(int /*signal*/) {
  warned = true;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  times = 0;
  terminated_at = 0;
  warned = false;
  handle(SIGINT, note_interrupt);
  handle(SIGTERM, note_terminate);
  handle(SIGUSR1, note_warning);
}

Interrupt::~Interrupt() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, SIG_DFL);
}

bool Interrupt::asked() const {
  return times.load() > 0;
}

std::optional<std::string> Interrupt::asked_to_leave() const {
  if (terminated_at.load() != 0) return "SIGTERM";
  return warned.load() ? std::optional<std::string>("SIGUSR1") : std::nullopt;
}

}  // namespace ronde::train
