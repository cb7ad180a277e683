#include "ronde/train/interrupt.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace ronde::train {
namespace {

// A signal handler reaches nothing else.
std::atomic<int> times{0};

extern "C" void note_interrupt(int /*signal*/) {
  if (times.fetch_add(1) > 0) _exit(kInterruptedExit);
}

}  // namespace

Interrupt::Interrupt() {
  times = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
}

bool Interrupt::asked() const {
  return times.load() > 0;
}

}  // namespace ronde::train
