#include "ronde/trace/record/wake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "ronde/base/error.h"

namespace ronde::trace::detail {

Wake::Wake() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw Error::system(errno, "cannot create the event that wakes the trace's writer");
}

Wake::~Wake() {
  ::close(fd_);
}

void Wake::ring() noexcept {
  const int saved = errno;  // a span must not change what its surroundings see
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);  // fails only when it has rung 2^64 times
  errno = saved;
}

void Wake::sleep(int milliseconds) noexcept {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  ::poll(&waiting, 1, milliseconds);
  std::uint64_t rung = 0;
  [[maybe_unused]] const auto read = ::read(fd_, &rung, sizeof rung);
}

}  // namespace ronde::trace::detail
