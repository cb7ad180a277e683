#include "ronde/comm/link/tcp/tcp_health.h"

#include <algorithm>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace ronde::comm::detail {

using std::chrono::milliseconds;

void prepare_connection(int socket, std::chrono::seconds seconds) {
  const auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, std::max(1, static_cast<int>(seconds.count()) - 1));
}

std::optional<TcpSample> sample_connection(int socket) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  int queued = 0;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || ioctl(socket, SIOCOUTQ, &queued) != 0)
    return {};
  return TcpSample{.outstanding = queued > 0,
                   .unanswered_probes = info.tcpi_probes,
                   .unacknowledged = info.tcpi_unacked,
                   .since_sent = milliseconds(info.tcpi_last_data_sent),
                   .since_answer = milliseconds(info.tcpi_last_ack_recv)};
}

milliseconds TcpHealth::interval() const {
  return std::clamp<milliseconds>(milliseconds(timeout_) / 5, milliseconds(100), milliseconds(1000));
}

bool TcpHealth::is_lost(const TcpSample& sample) {
  const bool asked =
      sample.unanswered_probes >= kProbes || (sample.unacknowledged > 0 && sample.since_sent < sample.since_answer);
  const bool unanswered = sample.outstanding && asked && sample.since_answer >= interval();
  unanswered_ = unanswered ? unanswered_ + 1 : 0;
  return unanswered_ >= kLooks && sample.since_answer >= timeout_;
}

}  // namespace ronde::comm::detail
