#include "ronde/comm/thread_job.h"

#include <exception>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/comm/detail/engine_core.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/host.h"

namespace ronde::comm {

struct ThreadJob::Impl {
  std::vector<detail::Neighbours> seats;
  std::vector<detail::EngineCore*> engines;
};

ThreadJob::ThreadJob(int ranks, std::size_t arena_bytes) : impl_(std::make_unique<Impl>()) {
  const auto size = static_cast<std::size_t>(ranks);
  const std::string host = topology::host_name();
  auto nodes = detail::Node::for_threads(ranks, arena_bytes);
  impl_->seats.resize(size);
  impl_->engines.resize(size);
  for (std::size_t r = 0; r < size; ++r) {
    detail::Neighbours& seat = impl_->seats[r];
    seat.node = std::move(nodes[r]);
    seat.sockets.resize(size);
    seat.cpus = topology::affinity_of_this_thread().size();
    for (int peer = 0; peer < ranks; ++peer) {
      seat.job.push_back({.host = host, .node = host, .address = "", .pid = getpid(), .cpus = ""});
      seat.ranks.push_back(peer);
    }
  }
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = a + 1; b < size; ++b) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        throw Error::system(errno, "cannot connect the ranks of a job of {} threads", ranks);
      impl_->seats[a].sockets[b] = FileDescriptor(pair[0]);
      impl_->seats[b].sockets[a] = FileDescriptor(pair[1]);
    }
  }
}

ThreadJob::~ThreadJob() = default;

int ThreadJob::size() const {
  return static_cast<int>(impl_->seats.size());
}

std::unique_ptr<Engine> ThreadJob::engine(int rank, EngineOptions options) {
  const auto index = static_cast<std::size_t>(rank);
  auto core = std::make_unique<detail::EngineCore>(nullptr, std::move(impl_->seats[index]), rank, std::move(options));
  impl_->engines[index] = core.get();
  return std::unique_ptr<Engine>(new Engine(std::move(core)));
}

void ThreadJob::kill(int rank) {
  impl_->engines[static_cast<std::size_t>(rank)]->vanish();
}

void run_ranks(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options) {
  ThreadJob job(ranks);
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
