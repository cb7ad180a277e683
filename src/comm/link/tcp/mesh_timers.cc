// What the mesh does at a time. One timer, among what is watched, wakes whoever pumps: an idle mesh sets none.
#include <algorithm>

#include <sys/timerfd.h>
#include <unistd.h>

#include "ronde/comm/link/tcp/mesh.h"

namespace ronde::comm::detail {

void Mesh::wake_within(std::chrono::nanoseconds time) {
  using namespace std::chrono;
  const nanoseconds at = monotonic_now() + time;
  if (wakes_at_.count() != 0 && wakes_at_ <= at) return;
  wakes_at_ = at;
  const auto whole = duration_cast<seconds>(at);
  const itimerspec once{.it_interval = {},
                        .it_value = {.tv_sec = whole.count(), .tv_nsec = static_cast<long>((at - whole).count())}};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &once, nullptr);
}

void Mesh::hear_timer() {
  std::uint64_t times = 0;
  if (read(timer_.get(), &times, sizeof(times)) < 0) return;  // it has been set to another time since
  wakes_at_ = {};
  look_at_times();
}

// Each of these asks to be woken again for what is not over yet.
void Mesh::look_at_times() {
  resume_listening();
  expire_unverified();
  give_up_doubtful();
  for (auto& [peer, out] : outgoing_) look_at_attempt(peer, out);
  for (auto& [peer, out] : outgoing_) look_at_health(peer, out);
}

void Mesh::look_at_attempt(int peer, Outgoing& out) {
  using State = Outgoing::State;
  const bool tries = out.state == State::Connecting || out.state == State::Greeting || out.state == State::Pausing;
  if (!tries) return;
  if (!out.until.passed()) return wake_within(out.until.left().value_or(options_.peer_timeout));
  if (out.state == State::Pausing) return begin_round(peer, out);
  const bool greeting = out.state == State::Greeting;
  connect_failed(peer, out, fmt::format("no answer for {} s", options_.peer_timeout.count()),
                 greeting ? Retry::Maybe : Retry::No);
}

void Mesh::look_at_health(int peer, Outgoing& out) {
  if (!out.outstanding || (out.state != Outgoing::State::Open && out.state != Outgoing::State::Answering)) return;
  const auto sample = sample_connection(out.socket.get());
  out.outstanding = sample && sample->outstanding;
  if (!out.outstanding) return;
  if (out.health.is_lost(*sample))
    return lose(peer, fmt::format("its machine has not answered for {} s", options_.peer_timeout.count()));
  wake_within(out.health.interval());
}

void Mesh::give_up_doubtful() {
  std::map<int, std::string> given_up;
  for (const auto& [peer, doubt] : doubtful_) {
    if (doubt.until.passed())
      given_up.emplace(peer, doubt.how);
    else
      wake_within(*doubt.until.left());
  }
  for (const auto& [peer, how] : given_up) {
    doubtful_.erase(peer);
    lose(peer, how);
  }
}

}  // namespace ronde::comm::detail
