#include "ronde/launch/process/escalation.h"

#include <csignal>

namespace ronde::launch::detail {

std::optional<int> Escalation::begin(int signal, Time now) {
  if (stage_ != Stage::Running) return {};
  stage_ = Stage::Stopping;
  begun_ = now;
  return signal;
}

std::optional<int> Escalation::ask(int signal, Time now) {
  const bool echo = asked_ && now - first_asked_ < kEcho;
  if (!asked_) first_asked_ = now;
  asked_ = true;
  if (stage_ == Stage::Running) return begin(signal, now);
  if (echo) return {};
  return kill();
}

std::optional<int> Escalation::tick(Time now) {
  const auto end = next();
  if (!end || now < *end) return {};
  return kill();
}

std::optional<int> Escalation::kill() {
  if (stage_ == Stage::Killed) return {};
  stage_ = Stage::Killed;
  return SIGKILL;
}

std::optional<Escalation::Time> Escalation::next() const {
  if (stage_ != Stage::Stopping) return {};
  return begun_ + std::chrono::duration_cast<Time::duration>(grace_);
}

}  // namespace ronde::launch::detail
