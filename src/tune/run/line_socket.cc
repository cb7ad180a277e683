#include "ronde/tune/run/line_socket.h"

#include <cerrno>

#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/tune/detail/result_line.h"

namespace ronde::tune {
namespace {

constexpr std::size_t kRead = 1 << 16;
constexpr std::size_t kLongest = 1 << 26;  // a message that is longer is a mistake

}  // namespace

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error::system(errno, "a socket for a process that runs trials cannot be made");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool LineSocket::send(const nlohmann::json& message) {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t put = ::send(descriptor_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    sent += static_cast<std::size_t>(put);
  }
  return true;
}

void LineSocket::hang_up() {
  ::shutdown(descriptor_.get(), SHUT_RDWR);
}

// False: nothing was read, since the other end is gone or (with MSG_DONTWAIT) nothing has come; errno is 0 for the
// first.
bool LineSocket::read_some(int flags) {
  if (taken_ > 0 && taken_ == text_.size()) {
    text_.clear();
    taken_ = 0;
  }
  char bytes[kRead];
  for (;;) {
    const ssize_t got = ::recv(descriptor_.get(), bytes, sizeof bytes, flags);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) errno = 0;
      return false;
    }
    text_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
}

bool LineSocket::fill() {
  while (read_some(MSG_DONTWAIT)) {
  }
  return errno != 0;
}

std::optional<nlohmann::json> LineSocket::take() {
  const std::size_t end = text_.find('\n', taken_);
  if (end == std::string::npos) {
    if (text_.size() - taken_ > kLongest) throw Error::bad_input("a message of more than {} bytes", kLongest);
    return {};
  }
  const std::string_view line = std::string_view(text_).substr(taken_, end - taken_);
  auto message = parse_result_line(line);
  if (!message) throw Error::bad_input("'{}' is not a message", line.substr(0, 200));
  taken_ = end + 1;
  if (taken_ > kRead) {
    text_.erase(0, taken_);
    taken_ = 0;
  }
  return message;
}

std::optional<nlohmann::json> LineSocket::receive() {
  for (;;) {
    if (auto message = take()) return message;
    if (!read_some(0)) return {};
  }
}

}  // namespace ronde::tune
