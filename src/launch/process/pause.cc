#include "ronde/launch/process/pause.h"

#include "ronde/launch/process/poller.h"
#include "ronde/launch/process/signals.h"

namespace ronde::launch::detail {

std::optional<int> pause_for(std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  const Signals signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1});
  std::optional<int> came;
  while (!came && std::chrono::steady_clock::now() < end) {
    Poller poller;
    poller.add(signals.descriptor(), POLLIN, [&] {
      if (const auto signal = signals.next()) came = static_cast<int>(signal->ssi_signo);
    });
    poller.wait(end);
  }
  return came;
}

}  // namespace ronde::launch::detail
