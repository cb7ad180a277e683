#include "ronde/comm/detail/watchdog.h"

#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/base/thread.h"

namespace ronde::comm::detail {
namespace {

constexpr int kStop = -1;
constexpr std::size_t kLongestWhy = 1500;  // a farewell must go out at once, in one piece

void add(int poll, int descriptor, int peer) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = peer}};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0) throw Error::system(errno, "cannot watch a peer");
}

}  // namespace

std::string write_farewell(const Farewell& farewell) {
  return fmt::format("{}\n{}", farewell.first_cause, farewell.why.substr(0, kLongestWhy));
}

Farewell read_farewell(const std::string& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {.first_cause = parse_number<int>(std::string_view(text).substr(0, end)).value_or(-1),
          .why = end < text.size() ? text.substr(end + 1) : ""};
}

Watchdog::Watchdog(const std::vector<FileDescriptor>& sockets, Gone gone)
    : sockets_(sockets),
      gone_(std::move(gone)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!poll_ || !stop_) throw Error::system(errno, "cannot watch the other ranks");
  add(poll_.get(), stop_.get(), kStop);
  for (std::size_t peer = 0; peer < sockets_.size(); ++peer)
    if (sockets_[peer]) add(poll_.get(), sockets_[peer].get(), static_cast<int>(peer));
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Watchdog::~Watchdog() {
  thread_.request_stop();
  eventfd_write(stop_.get(), 1);
}

void Watchdog::watch(const std::stop_token& stop) {
  name_this_thread("ronde watchdog");
  std::array<epoll_event, 16> events;
  while (!stop.stop_requested()) {
    const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int peer = events[static_cast<std::size_t>(i)].data.fd;
      if (peer == kStop || stop.stop_requested()) continue;
      if (hear(peer)) epoll_ctl(poll_.get(), EPOLL_CTL_DEL, sockets_[static_cast<std::size_t>(peer)].get(), nullptr);
    }
  }
}

// True when there is nothing more to be heard.
bool Watchdog::hear(int peer) {
  std::array<char, 4096> text;
  const ssize_t length = recv(sockets_[static_cast<std::size_t>(peer)].get(), text.data(), text.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  gone_(peer, length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "");
  return true;
}

void Watchdog::say(const std::string& farewell) const {
  for (const FileDescriptor& socket : sockets_)
    if (socket) (void)!send(socket.get(), farewell.data(), farewell.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace ronde::comm::detail
