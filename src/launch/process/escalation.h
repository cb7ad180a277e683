#pragma once

#include <chrono>
#include <optional>

namespace ronde::launch::detail {

// How ranks are stopped: a signal that lets them tidy up, then SIGKILL after a grace time, or at once for a user who
// insists. Decides only; each answer is a signal to be sent to all ranks now. Pure: time comes in.
class Escalation {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A second request this soon is an echo of the first, not impatience: timeout(1) signals the process and its group.
  static constexpr auto kEcho = std::chrono::milliseconds(300);

  explicit Escalation(std::chrono::nanoseconds grace) : grace_(grace) {}

  std::optional<int> begin(int signal, Time now);  // a rank has failed: the others shall stop
  std::optional<int> ask(int signal, Time now);    // the user wants a stop; the second time, at once
  std::optional<int> tick(Time now);               // time has passed
  std::optional<int> kill();                       // there is nothing to wait for

  // When tick() has something to say.
  std::optional<Time> next() const;

 private:
  enum class Stage { Running, Stopping, Killed };

  std::chrono::nanoseconds grace_;
  Stage stage_ = Stage::Running;
  Time begun_{};  // when Stopping began
  bool asked_ = false;
  Time first_asked_{};
};

}  // namespace ronde::launch::detail
