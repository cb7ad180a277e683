#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace ronde::comm::detail {

// Small messages go at once; while nothing is under way, a peer whose machine or network has gone is noticed after
// about `seconds`: the kernels of both sides look after that, and no process is woken.
//
// TCP_USER_TIMEOUT is not set: it would also end a connection whose peer does not read for a while (SIGSTOP, a
// debugger) though its kernel answers all the time. TcpHealth looks after what is under way. The kernel of a machine
// that is suspended answers nothing: it is lost after `seconds` like one without power.
void prepare_connection(int socket, std::chrono::seconds seconds);

// What the kernel knows about a connection.
struct TcpSample {
  bool outstanding = false;  // something is not yet acknowledged, or not even sent
  std::uint32_t unanswered_probes = 0;
  std::uint32_t unacknowledged = 0;  // segments
  std::chrono::milliseconds since_sent{0}, since_answer{0};
};
// Nothing where the kernel does not tell.
std::optional<TcpSample> sample_connection(int socket);

// Tells a peer that cannot be reached, whose kernel answers nothing, from one that does not read, whose kernel answers
// every question; those questions come ever more seldom, so a long silence alone means nothing. To be asked about every
// interval() while something is outstanding. Pure.
class TcpHealth {
 public:
  explicit TcpHealth(std::chrono::seconds timeout = {}) : timeout_(timeout) {}

  std::chrono::milliseconds interval() const;
  // Has the peer been silent for longer than the timeout, with questions left unanswered?
  bool is_lost(const TcpSample& sample);

 private:
  static constexpr int kLooks = 3;  // an answer may be on its way at one
  // Linux answers one probe in half a second, and leaves another that comes so soon unanswered.
  static constexpr std::uint32_t kProbes = 2;

  std::chrono::seconds timeout_;
  int unanswered_ = 0;  // looks in a row
};

}  // namespace ronde::comm::detail
