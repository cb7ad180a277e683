#include "ronde/comm/watch/watchdog.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/thread.h"

namespace ronde::comm::detail {
namespace {

constexpr int kStop = -1, kOther = -2, kSoon = -3;
constexpr long kSoonNanoseconds = 1'000'000;

void add(int poll, int descriptor, int peer) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = peer}};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0) throw Error::system(errno, "cannot watch a peer");
}

}  // namespace

Watchdog::Watchdog(const std::vector<FileDescriptor>& sockets, Heard heard)
    : sockets_(sockets),
      heard_(std::move(heard)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      soon_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!poll_ || !stop_ || !soon_) throw Error::system(errno, "cannot watch the other ranks");
  add(poll_.get(), stop_.get(), kStop);
  add(poll_.get(), soon_.get(), kSoon);
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
    wake_ups_.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      const int peer = events[static_cast<std::size_t>(i)].data.fd;
      if (peer == kStop || stop.stop_requested()) continue;
      if (peer == kOther) {
        other_ready_();
      } else if (peer == kSoon) {
        std::uint64_t times = 0;  // none, when it was disarmed at the last moment
        if (read(soon_.get(), &times, sizeof(times)) > 0) arm();
      } else if (hear(peer)) {
        epoll_ctl(poll_.get(), EPOLL_CTL_DEL, sockets_[static_cast<std::size_t>(peer)].get(), nullptr);
      }
    }
  }
}

// True when there is nothing more to be heard.
bool Watchdog::hear(int peer) {
  const auto read = [&] {
    return recv(sockets_[static_cast<std::size_t>(peer)].get(), text_.data(), text_.size(), MSG_DONTWAIT);
  };
  ssize_t length = read();
  // A peer that left without reading what we said: what it said itself comes behind this error.
  if (length < 0 && errno == ECONNRESET) length = read();
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  heard_(peer, length > 0 ? std::string(text_.data(), static_cast<std::size_t>(length)) : "");
  return length <= 0;
}

void Watchdog::watch_also(int descriptor, std::function<void()> ready) {
  other_ready_ = std::move(ready);
  other_ = descriptor;
  epoll_event event{.events = EPOLLONESHOT, .data = {.fd = kOther}};
  if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, other_, &event) != 0)
    throw Error::system(errno, "cannot watch the network");
}

void Watchdog::arm() const {
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.fd = kOther}};
  if (other_ >= 0) epoll_ctl(poll_.get(), EPOLL_CTL_MOD, other_, &event);
}

void Watchdog::arm_soon() const {
  set_timer(kSoonNanoseconds);
}

void Watchdog::set_timer(long nanoseconds) const {
  const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = nanoseconds}};
  timerfd_settime(soon_.get(), 0, &once, nullptr);
}

void Watchdog::disarm() const {
  set_timer(0);
  epoll_event event{.events = EPOLLONESHOT, .data = {.fd = kOther}};
  if (other_ >= 0) epoll_ctl(poll_.get(), EPOLL_CTL_MOD, other_, &event);
}

void Watchdog::say(const std::string& message) const {
  for (std::size_t peer = 0; peer < sockets_.size(); ++peer) say_to(static_cast<int>(peer), message);
}

void Watchdog::say_to(int peer, const std::string& message) const {
  const FileDescriptor& socket = sockets_[static_cast<std::size_t>(peer)];
  if (socket) (void)!send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace ronde::comm::detail
