#include "ronde/comm/link/nodes/peers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/meeting.h"
#include "ronde/comm/link/nodes/routes.h"
#include "ronde/comm/link/shm/shared_cores.h"
#include "ronde/comm/support/unix_socket.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/host.h"

namespace ronde::comm::detail {
namespace {

std::string boot_id() {
  std::string id;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, id);
  return id;
}

// "net:[4026531840]"; empty where the system does not tell.
std::string network_namespace() {
  std::array<char, 64> text{};
  const ssize_t length = readlink("/proc/self/ns/net", text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// Messages have borders: a rank may say several things.
FileDescriptor make_socket() {
  return support::make_unix_socket(SOCK_SEQPACKET);
}

FileDescriptor listen_at(const std::string& address, int backlog) {
  FileDescriptor socket = make_socket();
  const support::UnixAddress name = support::unix_address(address);
  if (bind(socket.get(), name.get(), name.length) != 0 || listen(socket.get(), backlog) != 0)
    throw Error::system(errno, "cannot listen for the ranks of this node");
  return socket;
}

// Waits until a socket that never blocks has something for us, or room.
void wait_for(int socket, short events, const std::string& whom, Deadline until) {
  pollfd wanted{.fd = socket, .events = events, .revents = 0};
  const int ready = poll(&wanted, 1, support::poll_time(until));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return;
  throw Error(Error::Kind::Timeout, fmt::format("{} does not answer at the start", whom));
}

// The message that two peers exchange: who I am, and with it the descriptor of my arena.
class ArenaMessage {
 public:
  ArenaMessage() {
    message_.msg_iov = &content_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }
  ArenaMessage(const ArenaMessage&) = delete;
  ArenaMessage& operator=(const ArenaMessage&) = delete;

  void attach(int descriptor) {
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  }
  // Nothing when none came along.
  FileDescriptor attached() {
    const cmsghdr* header = CMSG_FIRSTHDR(&message_);
    if (!header || header->cmsg_type != SCM_RIGHTS) return {};
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
    return FileDescriptor(descriptor);
  }
  msghdr* msg() { return &message_; }

  std::int32_t rank = 0;

 private:
  iovec content_{.iov_base = &rank, .iov_len = sizeof(rank)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  msghdr message_{};
};

void send_arena(int socket, int rank, int arena, const std::string& whom, Deadline until) {
  ArenaMessage message;
  message.rank = rank;
  message.attach(arena);
  while (sendmsg(socket, message.msg(), MSG_NOSIGNAL) < 0) {
    // Only so many descriptors of one user may be on their way: with many ranks on a node, others' are taken first.
    const bool too_many = errno == ETOOMANYREFS && !until.passed();
    if (errno != EAGAIN && errno != EINTR && !too_many)
      throw Error::system(errno, "cannot send this rank's introduction to {}", whom);
    if (too_many) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wait_for(socket, POLLOUT, whom, until);
  }
}

struct ReceivedArena {
  int rank = -1;
  FileDescriptor arena;
};

ReceivedArena receive_arena(int socket, const std::string& whom, Deadline until) {
  ArenaMessage message;
  ssize_t received = 0;
  while ((received = recvmsg(socket, message.msg(), MSG_CMSG_CLOEXEC)) < 0) {
    if (errno != EAGAIN && errno != EINTR) throw Error::system(errno, "cannot receive the introduction of {}", whom);
    wait_for(socket, POLLIN, whom, until);
  }
  FileDescriptor arena = message.attached();
  if (received != sizeof(message.rank) || !arena)
    throw Error(Error::Kind::PeerLost, fmt::format("{} left while the job was starting", whom));
  return {message.rank, std::move(arena)};
}

FileDescriptor accept_from(int listener, Deadline until) {
  for (;;) {
    FileDescriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket && support::peer_is_ours(socket.get())) return socket;
    if (!socket && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      throw Error::system(errno, "cannot accept the ranks of this node");
    if (!socket) wait_for(listener, POLLIN, "a rank of this node", until);
  }
}

// Meets everyone: calls those before me, is called by those after me. Everyone's call gets through before anyone has to
// pick up, so nobody waits in a circle.
class ArenaExchange {
 public:
  // `addresses`: by place, of the ranks of this node.
  ArenaExchange(Peers& peers, const std::vector<std::string>& addresses, int me, int listener, Deadline until)
      : peers_(peers), addresses_(addresses), me_(me), listener_(listener), until_(until) {}

  std::vector<FileDescriptor> arenas(int mine) {
    const int size = static_cast<int>(peers_.ranks.size());
    std::vector<FileDescriptor> arenas(peers_.ranks.size());
    peers_.sockets.resize(peers_.ranks.size());
    for (int peer = 0; peer < me_; ++peer) {
      socket(peer) =
          support::connect_unix(addresses_[static_cast<std::size_t>(peer)], SOCK_SEQPACKET, name(peer), until_);
      send_arena(socket(peer).get(), me_, mine, name(peer), until_);
    }
    for (int i = me_ + 1; i < size; ++i) {
      FileDescriptor caller = accept_from(listener_, until_);
      ReceivedArena received = receive_arena(caller.get(), "a rank of this node", until_);
      if (received.rank <= me_ || received.rank >= size || socket(received.rank))
        throw Error(Error::Kind::Bug, fmt::format("peer {} introduced itself to {} unexpectedly", received.rank, me_));
      arenas[static_cast<std::size_t>(received.rank)] = std::move(received.arena);
      socket(received.rank) = std::move(caller);
      send_arena(socket(received.rank).get(), me_, mine, name(received.rank), until_);
    }
    for (int peer = 0; peer < me_; ++peer)
      arenas[static_cast<std::size_t>(peer)] = receive_arena(socket(peer).get(), name(peer), until_).arena;
    return arenas;
  }

 private:
  int rank(int peer) const { return peers_.ranks[static_cast<std::size_t>(peer)]; }
  FileDescriptor& socket(int peer) { return peers_.sockets[static_cast<std::size_t>(peer)]; }
  std::string name(int peer) const { return fmt::format("rank {} on {}", rank(peer), peers_.job->host(rank(peer))); }

  Peers& peers_;
  const std::vector<std::string>& addresses_;
  int me_, listener_;
  Deadline until_;
};

// Where this rank may listen for other nodes. It does not know yet whether there are any: each meeting of all costs a
// large job dozens of messages in a row, so there is one, and what is not needed is closed after it.
struct OwnListening {
  Listening here;                     // on the loopback alone, for a job on one machine
  Listening outside;                  // on the networks of this machine
  std::optional<Error> failure = {};  // why not there
};

OwnListening listen_before(const std::string& interfaces) {
  OwnListening own;
  try {
    own.outside = listen_for_peers(interfaces, /*only_here=*/false);
    if (interfaces.empty()) own.here = listen_for_peers("", /*only_here=*/true);
  } catch (const Error& error) {
    own.failure = error;
  }
  if (own.failure && interfaces.empty()) {
    try {
      own.here = listen_for_peers("", /*only_here=*/true);
    } catch (const Error&) {  // the first failure is told, if other nodes need us
    }
  }
  return own;
}

std::unique_ptr<Mesh> make_mesh(int rank, const Peers& peers, OwnListening own, const Everyone& everyone,
                                const ConnectOptions& options, Deadline until) {
  std::vector<FileDescriptor> sockets = std::move(everyone.on_loopback ? own.here.sockets : own.outside.sockets);
  if (sockets.empty()) throw own.failure.value();
  if (everyone.secret.empty()) throw Error(Error::Kind::System, "rank 0 sent no secret for the job's connections");
  auto mesh = std::make_unique<Mesh>(std::move(sockets), Mesh::Options{.rank = rank,
                                                                       .job = peers.job,
                                                                       .secret = everyone.secret,
                                                                       .peer_timeout = options.peer_timeout,
                                                                       .log = options.log});
  const Partners partners = first_partners(*peers.layout, rank);
  mesh->meet(partners.call, partners.called_by, until);
  return mesh;
}

}  // namespace

int pretended_node(int rank, int ranks, int nodes) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * std::min(nodes, ranks) / ranks);
}

void Peers::take_job(Directory directory) {
  directory.finish();
  job = std::make_shared<const Directory>(std::move(directory));
  layout = std::make_shared<const Layout>(Layout::of(job->node_of()));
  std::vector<int> everyone(static_cast<std::size_t>(job->size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  all = std::make_shared<const std::vector<int>>(std::move(everyone));
}

Peers connect_peers(Bootstrap& bootstrap, const ConnectOptions& options, Deadline until) {
  const std::string host = topology::host_name(), address = support::random_address();
  const FileDescriptor listener = listen_at(address, bootstrap.size());
  Identity identity = identify(boot_id(), network_namespace(), host);
  if (options.pretend_nodes > 1)
    identity.node += fmt::format(" {}", pretended_node(bootstrap.rank(), bootstrap.size(), options.pretend_nodes));
  const Introduction mine{host,
                          identity.node,
                          address,
                          getpid(),
                          topology::affinity_of_this_thread().format(),
                          identity.machine,
                          topology::cpu_quotas()};
  OwnListening own = listen_before(options.interfaces);
  const std::string secret = bootstrap.rank() == 0 ? support::random_secret() : "";
  const Told told{.who = mine, .here = own.here.endpoint, .outside = own.outside.endpoint, .secret = secret};
  Everyone everyone =
      read_everyone(bootstrap.exchange(write_told(told), until), bootstrap.rank(), options.interfaces.empty());
  Peers peers;
  peers.take_job(std::move(everyone.job));
  peers.ranks = everyone.ranks;
  peers.cpus = shared_cores(everyone.cores);
  const auto own_place = std::ranges::find(peers.ranks, bootstrap.rank());
  const int me = static_cast<int>(own_place - peers.ranks.begin());

  FileDescriptor arena = Mapping::make_file(options.arena_bytes);
  auto files = ArenaExchange(peers, everyone.addresses, me, listener.get(), until).arenas(arena.get());
  for (const FileDescriptor& socket : peers.sockets) peers.guards.emplace_back(socket.get());
  files[static_cast<std::size_t>(me)] = std::move(arena);
  Node::Arenas arenas;
  for (const FileDescriptor& file : files)
    arenas.push_back(std::make_shared<Mapping>(Mapping::of_file(file.get(), options.arena_bytes)));
  peers.node = std::make_shared<Node>(me, std::move(arenas));
  if (std::ssize(peers.ranks) < peers.job->size()) {
    peers.mesh = make_mesh(bootstrap.rank(), peers, std::move(own), everyone, options, until);
    if (!options.tcp_only) peers.data = bootstrap.transport();
  }
  return peers;
}

}  // namespace ronde::comm::detail
