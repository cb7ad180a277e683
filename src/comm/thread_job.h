#pragma once

#include <functional>
#include <memory>

#include "ronde/comm/engine.h"

namespace ronde::comm {

// A job whose ranks are threads of this process, for tests. Each has an engine of its own, with everything that ranks
// as processes have: arenas, doorbells, and sockets that close when an engine ends.
//
//   run_ranks(4, [](Engine& engine) { ...; engine.world().barrier().wait(); });
class ThreadJob {
 public:
  // `nodes`: as if the ranks were on so many machines, with real connections between them.
  // FAILS WITH: System.
  explicit ThreadJob(int ranks, int nodes = 1, std::size_t arena_bytes = std::size_t{1} << 30);
  ~ThreadJob();

  int size() const;
  // The engine of a rank; once a rank. Any thread may call it.
  std::unique_ptr<Engine> engine(int rank, EngineOptions options = {});
  // As if the process of this rank were killed: the others see its sockets close without a word.
  void kill(int rank);

 protected:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// Calls body(engine) on one thread a rank, on options.pretend_nodes nodes. When all have ended, throws what the lowest
// rank threw, if any did.
void run_ranks(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options = {});

}  // namespace ronde::comm
