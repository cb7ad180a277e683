#include "ronde/launch/output/terminal_input.h"

#include <array>

namespace ronde::launch::detail {
namespace {
constexpr auto kRest = std::chrono::seconds(1);
}

TerminalInput::TerminalInput(FileDescriptor to) : to_(std::move(to)) {
  if (to_) stop_blocking(to_.get());
}

std::optional<Poller::Time> TerminalInput::watch(Poller& poller) {
  if (!to_) return {};
  if (!typed_.empty()) {
    poller.add(to_.get(), POLLOUT, [this] { copy_out(); });
    return {};
  }
  poller.add(to_.get(), 0, [this] { to_.close(); });  // nobody reads any more
  if (rest_ > std::chrono::steady_clock::now()) return rest_;
  poller.add(STDIN_FILENO, POLLIN, [this] { copy_in(); });
  return {};
}

void TerminalInput::copy_in() {
  std::array<char, 4096> bytes;
  const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got > 0)
    typed_.assign(bytes.data(), static_cast<std::size_t>(got));
  else if (got < 0 && (errno == EIO || errno == EINTR || errno == EAGAIN))
    rest_ = std::chrono::steady_clock::now() + kRest;
  else
    to_.close();  // end of input
}

void TerminalInput::copy_out() {
  const ssize_t written = write(to_.get(), typed_.data(), typed_.size());
  if (written > 0)
    typed_.erase(0, static_cast<std::size_t>(written));
  else if (errno != EAGAIN && errno != EINTR)
    to_.close();
}

}  // namespace ronde::launch::detail
