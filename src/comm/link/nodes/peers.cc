#include "ronde/comm/link/nodes/peers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/comm/bootstrap/unix_socket.h"
#include "ronde/comm/link/shm/layout.h"
#include "ronde/comm/link/shm/shared_cores.h"
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
  return make_unix_socket(SOCK_SEQPACKET);
}

FileDescriptor listen_at(const std::string& address, int backlog) {
  FileDescriptor socket = make_socket();
  const UnixAddress name = unix_address(address);
  if (bind(socket.get(), name.get(), name.length) != 0 || listen(socket.get(), backlog) != 0)
    throw Error::system(errno, "cannot listen for the ranks of this node");
  return socket;
}

// Waits until a socket that never blocks has something for us, or room.
void wait_for(int socket, short events, const std::string& whom, Deadline until) {
  pollfd wanted{.fd = socket, .events = events, .revents = 0};
  const int ready = poll(&wanted, 1, poll_time(until));
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
    if (errno != EAGAIN && errno != EINTR)
      throw Error::system(errno, "cannot send this rank's introduction to {}", whom);
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
    if (socket && peer_is_ours(socket.get())) return socket;
    if (!socket && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      throw Error::system(errno, "cannot accept the ranks of this node");
    if (!socket) wait_for(listener, POLLIN, "a rank of this node", until);
  }
}

// Meets everyone: calls those before me, is called by those after me. Everyone's call gets through before anyone has to
// pick up, so nobody waits in a circle.
class ArenaExchange {
 public:
  ArenaExchange(Peers& peers, int me, int listener, Deadline until)
      : peers_(peers), me_(me), listener_(listener), until_(until) {}

  std::vector<FileDescriptor> arenas(int mine) {
    const int size = static_cast<int>(peers_.ranks.size());
    std::vector<FileDescriptor> arenas(peers_.ranks.size());
    peers_.sockets.resize(peers_.ranks.size());
    for (int peer = 0; peer < me_; ++peer) {
      socket(peer) =
          connect_unix(peers_.job[static_cast<std::size_t>(rank(peer))].address, SOCK_SEQPACKET, name(peer), until_);
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
  std::string name(int peer) const {
    return fmt::format("rank {} on {}", rank(peer), peers_.job[static_cast<std::size_t>(rank(peer))].host);
  }

  Peers& peers_;
  int me_, listener_;
  Deadline until_;
};

// Nodes are numbered by their lowest rank.
std::vector<int> number_nodes(const std::vector<Introduction>& job) {
  std::vector<std::string> seen;
  std::vector<int> node_of;
  for (const Introduction& one : job) {
    auto found = std::ranges::find(seen, one.node);
    if (found == seen.end()) found = seen.insert(seen.end(), one.node);
    node_of.push_back(static_cast<int>(found - seen.begin()));
  }
  return node_of;
}

// Everyone tells where it listens; rank 0 says the word by which ranks of this job know each other.
std::unique_ptr<Mesh> make_mesh(Bootstrap& bootstrap, const Peers& peers, const ConnectOptions& options,
                                Deadline until) {
  const std::string& here = peers.job[static_cast<std::size_t>(bootstrap.rank())].machine;
  const bool only_here = std::ranges::all_of(peers.job, [&](const auto& one) { return one.machine == here; });
  Listening mine = listen_for_peers(options.interfaces, only_here);
  const std::string secret = bootstrap.rank() == 0 ? random_secret() : "";
  const auto blobs = bootstrap.exchange(write_endpoint(mine.endpoint, secret), until);
  Mesh::Options mesh_options{.rank = bootstrap.rank(), .peer_timeout = options.peer_timeout, .log = options.log};
  for (std::size_t rank = 0; rank < blobs.size(); ++rank) {
    ReceivedEndpoint told = read_endpoint(blobs[rank]);
    if (rank == 0) mesh_options.secret = std::move(told.secret);
    const Introduction& peer = peers.job[rank];
    told.endpoint.addresses =
        order_addresses(mine.endpoint.addresses, std::move(told.endpoint.addresses), peer.machine == here);
    mesh_options.endpoints.push_back(std::move(told.endpoint));
    mesh_options.names.push_back(fmt::format("rank {} on {} (pid {})", rank, peer.host, peer.pid));
  }
  if (mesh_options.secret.empty()) throw Error(Error::Kind::System, "rank 0 sent no secret for the job's connections");
  auto mesh = std::make_unique<Mesh>(std::move(mine.sockets), std::move(mesh_options));
  const Partners partners = first_partners(peers.node_of, bootstrap.rank());
  mesh->meet(partners.call, partners.called_by, until);
  return mesh;
}

}  // namespace

int pretended_node(int rank, int ranks, int nodes) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * std::min(nodes, ranks) / ranks);
}

Partners first_partners(const std::vector<int>& node_of, int rank) {
  const Layout layout = Layout::of(node_of);
  const auto place = static_cast<std::size_t>(layout.place_of[static_cast<std::size_t>(rank)]);
  std::vector<int> line;  // one rank a node, where there is one
  for (const auto& node : layout.nodes)
    if (place < node.size()) line.push_back(node[place]);
  const auto me = static_cast<std::size_t>(std::ranges::find(line, rank) - line.begin());
  Partners partners;
  for (std::size_t distance = 1; distance < line.size(); distance *= 2) {
    partners.call.push_back(line[(me + distance) % line.size()]);
    partners.called_by.push_back(line[(me + line.size() - distance) % line.size()]);
  }
  return partners;
}

Peers connect_peers(Bootstrap& bootstrap, const ConnectOptions& options, Deadline until) {
  const std::string host = topology::host_name(), address = random_address();
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
  Peers peers;
  std::vector<RankCores> cores;
  for (const std::string& blob : bootstrap.exchange(write_introduction(mine), until)) {
    peers.job.push_back(read_introduction(blob));
    if (peers.job.back().node != mine.node) continue;
    peers.ranks.push_back(static_cast<int>(peers.job.size()) - 1);
    cores.push_back({topology::CpuSet::parse(peers.job.back().cpus), peers.job.back().quotas});
  }
  peers.cpus = shared_cores(cores);
  peers.node_of = number_nodes(peers.job);
  const auto own = std::ranges::find(peers.ranks, bootstrap.rank());
  const int me = static_cast<int>(own - peers.ranks.begin());

  FileDescriptor arena = Mapping::make_file(options.arena_bytes);
  auto files = ArenaExchange(peers, me, listener.get(), until).arenas(arena.get());
  for (const FileDescriptor& socket : peers.sockets) peers.guards.emplace_back(socket.get());
  files[static_cast<std::size_t>(me)] = std::move(arena);
  Node::Arenas arenas;
  for (const FileDescriptor& file : files)
    arenas.push_back(std::make_shared<Mapping>(Mapping::of_file(file.get(), options.arena_bytes)));
  peers.node = std::make_shared<Node>(me, std::move(arenas));
  if (peers.ranks.size() < peers.job.size()) {
    peers.mesh = make_mesh(bootstrap, peers, options, until);
    if (!options.tcp_only) peers.data = bootstrap.transport();
  }
  return peers;
}

}  // namespace ronde::comm::detail
