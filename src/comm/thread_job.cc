#include "ronde/comm/thread_job.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <tuple>

#include <sys/socket.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/engine/hooked_job.h"
#include "ronde/comm/link/nodes/routes.h"
#include "ronde/topology/host.h"

namespace ronde::comm {

struct ThreadJob::Impl {
  std::vector<detail::Peers> peers_by_rank;
  std::vector<detail::EngineCore*> engines;
  std::vector<detail::EngineHooks> hooks;
};

namespace {

// Two ends of a connection between ranks of one node.
std::pair<FileDescriptor, FileDescriptor> make_pair() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw Error::system(errno, "cannot connect the ranks of a job of threads");
  return {FileDescriptor(pair[0]), FileDescriptor(pair[1])};
}

void connect_node(std::vector<detail::Peers>& peers_by_rank, const std::vector<int>& ranks, std::size_t arena_bytes) {
  auto nodes = detail::Node::for_threads(static_cast<int>(ranks.size()), arena_bytes);
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    detail::Peers& peers = peers_by_rank[static_cast<std::size_t>(ranks[place])];
    peers.node = std::move(nodes[place]);
    peers.ranks = ranks;
    peers.sockets.resize(ranks.size());
    peers.cpus = topology::usable_cores();
  }
  for (std::size_t a = 0; a < ranks.size(); ++a)
    for (std::size_t b = a + 1; b < ranks.size(); ++b)
      std::tie(peers_by_rank[static_cast<std::size_t>(ranks[a])].sockets[b],
               peers_by_rank[static_cast<std::size_t>(ranks[b])].sockets[a]) = make_pair();
}

void open_endpoints(std::vector<detail::Peers>& peers_by_rank, std::vector<detail::Listening> listening) {
  detail::Mesh::Options options{.job = peers_by_rank.front().job, .secret = support::random_secret()};
  for (std::size_t rank = 0; rank < peers_by_rank.size(); ++rank) {
    options.rank = static_cast<int>(rank);
    peers_by_rank[rank].mesh = std::make_unique<detail::Mesh>(std::move(listening[rank].sockets), options);
  }
}

}  // namespace

ThreadJob::ThreadJob(int ranks, int nodes, std::size_t arena_bytes) : impl_(std::make_unique<Impl>()) {
  const auto size = static_cast<std::size_t>(ranks);
  const std::string host = topology::host_name();
  impl_->peers_by_rank.resize(size);
  impl_->engines.resize(size);
  impl_->hooks.resize(size);
  std::vector<detail::Listening> listening(size);
  detail::Directory job;
  for (int rank = 0; rank < ranks; ++rank) {
    detail::Listening& own = listening[static_cast<std::size_t>(rank)];
    if (nodes > 1) own = detail::listen_for_peers("", /*only_here=*/true);
    const int node = detail::pretended_node(rank, ranks, nodes);
    job.add({.host = host, .node = std::to_string(node), .machine = host, .pid = getpid(), .endpoint = own.endpoint});
  }
  detail::Peers shared;
  shared.take_job(std::move(job));
  for (detail::Peers& peers : impl_->peers_by_rank) {
    peers.job = shared.job;
    peers.layout = shared.layout;
    peers.all = shared.all;
  }
  for (const auto& node : shared.layout->nodes) connect_node(impl_->peers_by_rank, node, arena_bytes);
  if (shared.layout->count() > 1) open_endpoints(impl_->peers_by_rank, std::move(listening));
}

ThreadJob::~ThreadJob() = default;

int ThreadJob::size() const {
  return static_cast<int>(impl_->peers_by_rank.size());
}

std::unique_ptr<Engine> ThreadJob::engine(int rank, EngineOptions options) {
  const auto index = static_cast<std::size_t>(rank);
  if (auto& mesh = impl_->peers_by_rank[index].mesh) {
    const detail::Partners partners = detail::first_partners(*impl_->peers_by_rank[index].layout, rank);
    mesh->meet(partners.call, partners.called_by, Deadline::after(options.start_timeout));
  }
  auto core = std::make_unique<detail::EngineCore>(nullptr, std::move(impl_->peers_by_rank[index]), rank,
                                                   std::move(options), std::move(impl_->hooks[index]));
  impl_->engines[index] = core.get();
  return detail::EngineCore::engine_of(std::move(core));
}

void detail::HookedJob::set_hooks(int rank, EngineHooks hooks) {
  impl_->hooks[static_cast<std::size_t>(rank)] = std::move(hooks);
}

void detail::HookedJob::set_hooks(const EngineHooks& of_all) {
  std::ranges::fill(impl_->hooks, of_all);
}

void ThreadJob::kill(int rank) {
  impl_->engines[static_cast<std::size_t>(rank)]->vanish();
}

void run_ranks(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options) {
  run_ranks(ranks, body, options, {});
}

void run_ranks(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options,
               const detail::EngineHooks& hooks) {
  detail::HookedJob job(ranks, options.pretend_nodes);
  job.set_hooks(hooks);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(*job.engine(rank, options));
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace ronde::comm
