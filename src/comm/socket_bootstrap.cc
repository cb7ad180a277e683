#include "ronde/comm/socket_bootstrap.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/bootstrap/bootstrap_wire.h"
#include "ronde/comm/mpi_bootstrap.h"
#include "ronde/comm/support/close_on_fork.h"
#include "ronde/comm/support/unix_socket.h"

namespace ronde::comm {
namespace {

using namespace std::chrono_literals;
using detail::MessageType;

// How long we wait, after our own time is over, for the server to say who is missing.
constexpr auto kAnswerTime = 1s;

// Sends and receives messages on a socket that does not block.
class Line {
 public:
  Line(FileDescriptor socket, std::size_t most_bytes) : socket_(std::move(socket)), reader_(most_bytes) {}

  // False when the deadline passed first. Half a message may be out then: this and every later call are in vain.
  // FAILS WITH: PeerLost when the launcher is gone.
  bool send(MessageType type, std::string content, Deadline until) {
    const std::string bytes = detail::pack({type, std::move(content)});
    for (std::size_t sent = 0; usable_ && sent < bytes.size();) {
      const ssize_t more = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (more >= 0)
        sent += static_cast<std::size_t>(more);
      else if (errno != EAGAIN && errno != EINTR)
        throw launcher_gone();
      else if (!ready(POLLOUT, until))
        usable_ = false;
    }
    return usable_;
  }

  // An answer that comes later would be taken for that of the next question.
  void give_up() { usable_ = false; }

  // Nothing when the deadline passed first.
  // FAILS WITH: PeerLost when the launcher is gone.
  std::optional<detail::Message> receive(Deadline until) {
    std::array<char, 64 << 10> bytes;
    while (true) {
      if (auto message = reader_.next()) return message;
      const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got > 0)
        reader_.add({bytes.data(), static_cast<std::size_t>(got)});
      else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        throw launcher_gone();
      else if (!ready(POLLIN, until))
        return {};
    }
  }

 private:
  static Error launcher_gone() { return {Error::Kind::PeerLost, "bootstrap: the launcher ('ronde run') is gone"}; }

  bool ready(short events, const Deadline& until) const {
    pollfd wait{socket_.get(), events, 0};
    return poll(&wait, 1, support::poll_time(until)) > 0 || !until.passed();
  }

  support::CloforkDescriptor socket_;
  detail::MessageReader reader_;
  bool usable_ = true;
};

class SocketBootstrap final : public Bootstrap {
 public:
  SocketBootstrap(Line line, int rank, int size) : line_(std::move(line)), rank_(rank), size_(size) {}
  SocketBootstrap(const SocketBootstrap&) = delete;
  SocketBootstrap& operator=(const SocketBootstrap&) = delete;
  // Says goodbye, if that can be said at once: going without a word would count as a crash.
  ~SocketBootstrap() override {
    try {
      line_.send(MessageType::Bye, "", Deadline::after(0s));
    } catch (const Error&) {  // nobody listens any more
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> exchange(const std::string& mine, Deadline until) override {
    if (mine.size() > detail::kMostBlobBytes)
      throw Error::bad_input("bootstrap: {} from rank {} exceed the limit of {} per exchange",
                             format_bytes(mine.size()), rank_, format_bytes(detail::kMostBlobBytes));
    const auto start = monotonic_now();
    std::optional<detail::Message> answer;
    if (line_.send(MessageType::Give, mine, until)) answer = line_.receive(until);
    if (!answer && line_.send(MessageType::GiveUp, "", Deadline::after(kAnswerTime)))
      answer = line_.receive(Deadline::after(kAnswerTime));
    const std::string elapsed = format_duration(monotonic_now() - start);
    if (!answer) line_.give_up();
    if (!answer)
      throw Error(Error::Kind::Timeout,
                  fmt::format("bootstrap: rank {} waited {}, but the launcher does not answer", rank_, elapsed));
    return read(*answer, elapsed);
  }

  // The launcher tells it to whoever exchanges anything. It may have seen that the connection closed, but not yet how
  // the process ended.
  std::string how_ended(int rank, Deadline until) override {
    const std::string start = fmt::format("rank {} is gone (", rank);
    while (!until.passed()) {
      try {
        exchange("", until);
      } catch (const Error& error) {
        const std::string_view text = error.what();
        const std::size_t found = text.find(start);
        if (found == std::string_view::npos) return {};
        const std::string_view how = text.substr(found + start.size());
        const std::size_t end = std::min(how.find("), rank "), how.find("); rank "));
        if (!how.starts_with(detail::kConnectionClosed)) return std::string(how.substr(0, end));
      }
      std::this_thread::sleep_for(10ms);
    }
    return {};
  }

 private:
  std::vector<std::string> read(const detail::Message& answer, const std::string& elapsed) const {
    if (answer.type == MessageType::All) {
      auto blobs = detail::read_blobs(answer.content);
      if (static_cast<int>(blobs.size()) == size_) return blobs;
    } else if (answer.type == MessageType::Failed) {
      const detail::Failure failure = detail::read_failure(answer.content);
      throw Error(failure.kind, fmt::format("bootstrap: {}; rank {} waited {}", failure.text, rank_, elapsed),
                  {.ranks = failure.ranks});
    }
    throw Error(Error::Kind::Bug, "bootstrap: invalid answer from the launcher");
  }

  Line line_;
  int rank_;
  int size_;
};

class SingleRankBootstrap final : public Bootstrap {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> exchange(const std::string& mine, Deadline) override { return {mine}; }
};

FileDescriptor connect_socket(const std::string& address, const Deadline& until) {
  FileDescriptor socket = support::connect_unix(address, SOCK_STREAM, "the launcher ('ronde run')", until);
  if (!support::peer_is_ours(socket.get()))
    throw Error(Error::Kind::System, fmt::format("bootstrap: {} belongs to another user", address));
  return socket;
}

int number(const char* variable, const std::string& text) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 0)
    throw Error::bad_input("{}='{}' is not a number; only 'ronde run' should set this variable", variable, text);
  return *value;
}

}  // namespace

std::unique_ptr<Bootstrap> connect_bootstrap(const std::string& address, int rank, int size, Deadline until) {
  Line line(connect_socket(address, until), static_cast<std::size_t>(size) * (detail::kMostBlobBytes + 4) + 4);
  std::optional<detail::Message> answer;
  if (line.send(MessageType::Hello, detail::write_hello({rank, size}), until)) answer = line.receive(until);
  if (!answer) throw Error(Error::Kind::Timeout, fmt::format("bootstrap: the launcher does not answer rank {}", rank));
  if (answer->type != MessageType::Welcome)
    throw Error(Error::Kind::System, fmt::format("bootstrap: rank {} was refused: {}", rank, answer->content));
  return std::make_unique<SocketBootstrap>(std::move(line), rank, size);
}

std::unique_ptr<Bootstrap> bootstrap_from(const Environment& environment, Deadline until) {
  const auto address = environment.get(kBootstrapVariable);
  const auto rank = environment.get(kRankVariable), size = environment.get(kSizeVariable);
  if (!address && !rank && !size) {
    if (runs_under_mpi(environment)) return mpi_bootstrap(environment, until);
    return std::make_unique<SingleRankBootstrap>();
  }
  if (!address || !rank || !size)
    throw Error::bad_input("{}, {} and {} must be set together, as 'ronde run' does; only some of them are set",
                           kBootstrapVariable, kRankVariable, kSizeVariable);
  return connect_bootstrap(*address, number(kRankVariable, *rank), number(kSizeVariable, *size), until);
}

}  // namespace ronde::comm
