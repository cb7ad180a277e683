#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <thread>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/system/thread.h"
#include "ronde/comm/bootstrap/rendezvous.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/comm/support/unix_socket.h"

namespace ronde::comm {
namespace {

using detail::MessageType;

constexpr std::size_t kMostStrangers = 64;  // connections that have not greeted yet, besides one for each rank

struct Connection {
  explicit Connection(FileDescriptor made) : socket(std::move(made)) {}

  FileDescriptor socket;
  detail::MessageReader reader{detail::kMostHelloBytes};
  std::string unsent;
  std::optional<int> rank = {};  // absent: a stranger
  bool closing = false;          // to be dropped when `unsent` is empty

  short events() const { return static_cast<short>((closing ? 0 : POLLIN) | (unsent.empty() ? 0 : POLLOUT)); }
  void send(MessageType type, std::string content) { unsent += detail::pack({type, std::move(content)}); }
};

}  // namespace

class SocketBootstrapServer::Impl {
 public:
  explicit Impl(int size) : size_(size), rendezvous_(size), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw Error::system(errno, "cannot create an event for the bootstrap");
    const support::UnixAddress name = support::unix_address(address_);
    if (bind(listener_.get(), name.get(), name.length) != 0 || listen(listener_.get(), SOMAXCONN) != 0)
      throw Error::system(errno, "cannot serve the bootstrap at {}", address_);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      name_this_thread("bootstrap");
      while (!stop.stop_requested()) step();
    });
  }
  ~Impl() {
    thread_.request_stop();
    wake();
  }

  const std::string& address() const { return address_; }

  void rank_ended(int rank, std::string how) {
    {
      const Lock lock(mutex_);
      ended_.emplace_back(rank, std::move(how));
    }
    wake();
  }

 private:
  using Connections = std::list<Connection>;

  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof(one));  // full: it is awake already
  }

  // Older connections come first, so a rank's goodbye is read before the greeting of the connection that follows it.
  void step() {
    std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Connection& connection : connections_)
      waits.push_back({connection.socket.get(), connection.events(), 0});
    poll(waits.data(), waits.size(), -1);
    auto wait = waits.begin() + 2;
    for (Connection& connection : connections_)
      if ((wait++)->revents != 0) serve(connection);
    if (waits[0].revents != 0) hear_of_ended();
    connections_.remove_if([](Connection& connection) { return connection.closing && connection.unsent.empty(); });
    if (waits[1].revents != 0) accept_one();
  }

  void accept_one() {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {  // out of descriptors, as a rule: do not ask again at full speed
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    if (!support::peer_is_ours(socket.get())) return;
    const auto stranger = [](const Connection& connection) { return !connection.rank; };
    if (static_cast<std::size_t>(std::ranges::count_if(connections_, stranger)) >=
        kMostStrangers + static_cast<std::size_t>(size_))
      connections_.erase(std::ranges::find_if(connections_, stranger));
    connections_.emplace_back(std::move(socket));
  }

  void serve(Connection& connection) {
    if (!connection.closing) read_from(connection);
    flush(connection);
  }

  void read_from(Connection& connection) {
    std::array<char, 64 << 10> bytes;
    const ssize_t got = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return drop(connection, detail::kConnectionClosed);
    connection.reader.add({bytes.data(), static_cast<std::size_t>(got)});
    try {
      while (!connection.closing) {
        auto message = connection.reader.next();
        if (!message) return;
        take(connection, std::move(*message));
      }
    } catch (const Error& error) {
      drop(connection, error.message());
    }
  }

  void take(Connection& connection, detail::Message message) {
    if (!connection.rank && message.type == MessageType::Hello) return greet(connection, message.content);
    if (connection.rank && message.type == MessageType::Give)
      return answer(rendezvous_.give(*connection.rank, std::move(message.content)));
    if (connection.rank && message.type == MessageType::GiveUp) return answer(rendezvous_.give_up(*connection.rank));
    if (connection.rank && message.type == MessageType::Bye) {
      rendezvous_.leave(*connection.rank);
      forget(connection);
      return;
    }
    drop(connection, "it sent a message out of turn");
  }

  void greet(Connection& connection, const std::string& content) {
    const detail::Hello hello = detail::read_hello(content);
    if (const auto refusal = rendezvous_.arrive(hello)) {
      connection.send(MessageType::Refused, *refusal);
      connection.closing = true;
      return;
    }
    connection.rank = hello.rank;
    connection.reader.allow(detail::kMostBlobBytes);
    connection.send(MessageType::Welcome, "");
    flush(connection);
  }

  void answer(const detail::Rendezvous::Replies& replies) {
    std::string packed_blobs;  // the same for everyone
    for (const auto& reply : replies) {
      const auto waiting = std::ranges::find(connections_, reply.rank, &Connection::rank);
      if (waiting == connections_.end()) continue;
      if (reply.failure) waiting->send(MessageType::Failed, detail::write_failure(*reply.failure));
      if (reply.blobs && packed_blobs.empty()) packed_blobs = detail::write_blobs(*reply.blobs);
      if (reply.blobs) waiting->send(MessageType::All, packed_blobs);
      flush(*waiting);
    }
  }

  static void flush(Connection& connection) {
    while (!connection.unsent.empty()) {
      const ssize_t sent =
          ::send(connection.socket.get(), connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0 && errno != EINTR) return connection.unsent.clear();  // gone; reading will say so
      if (sent > 0) connection.unsent.erase(0, static_cast<std::size_t>(sent));
    }
  }

  static void forget(Connection& connection) {
    connection.rank.reset();
    connection.unsent.clear();
    connection.closing = true;
  }

  void drop(Connection& connection, std::string why) {
    const auto rank = connection.rank;
    forget(connection);
    if (rank) answer(rendezvous_.lose(*rank, std::move(why)));
  }

  void hear_of_ended() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof(count));
    std::vector<std::pair<int, std::string>> ended;
    {
      const Lock lock(mutex_);
      ended.swap(ended_);
    }
    for (auto& [rank, how] : ended) answer(rendezvous_.ended(rank, std::move(how)));
  }

  const int size_;
  const std::string address_ = support::random_address();
  detail::Rendezvous rendezvous_;  // this and connections_: the thread's alone
  Connections connections_;        // in the order in which they came
  FileDescriptor wake_;
  FileDescriptor listener_ = support::make_unix_socket();
  Mutex mutex_;
  std::vector<std::pair<int, std::string>> ended_ RONDE_GUARDED_BY(mutex_);  // reported, not yet heard of
  std::jthread thread_;                                                      // last: it uses all of the above
};

SocketBootstrapServer::SocketBootstrapServer(int size) : impl_(std::make_unique<Impl>(size)) {}
SocketBootstrapServer::~SocketBootstrapServer() = default;
const std::string& SocketBootstrapServer::address() const {
  return impl_->address();
}
void SocketBootstrapServer::rank_ended(int rank, std::string how) {
  impl_->rank_ended(rank, std::move(how));
}

}  // namespace ronde::comm
