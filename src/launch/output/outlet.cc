#include "ronde/launch/output/outlet.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace ronde::launch::detail {

void Outlet::write_some() {
  // A pipe that poll finds writable takes this much without blocking.
  const std::size_t count = std::min<std::size_t>(PIPE_BUF, bytes_.size() - written_);
  const ssize_t written = write(descriptor_, bytes_.data() + written_, count);
  if (written < 0 && errno != EAGAIN && errno != EINTR) broken_ = true;
  if (written > 0) written_ += static_cast<std::size_t>(written);
  if (broken_) written_ = bytes_.size();
  if (written_ == bytes_.size() || written_ >= kEnough) {
    bytes_.erase(0, written_);
    written_ = 0;
  }
}

}  // namespace ronde::launch::detail
