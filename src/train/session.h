#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "ronde/comm/engine.h"
#include "ronde/train/options.h"

namespace ronde {

namespace train {
struct Registry;  // registry.h
}

// One rank's part in a job: meets the other ranks, and leaves them when it goes. Under `ronde run`, torchrun,
// mpirun or srun there are as many as those say; otherwise one. What the variables RONDE_* say holds.
//
//   ronde::Session session;
//   if (session.rank() == 0) ...
class Session {
 public:
  // FAILS WITH: BadInput (a wrong setting), PeerLost, Timeout, System.
  Session();
  explicit Session(const Settings& settings);
  // With what settings may name besides what is built in; nullptr: nothing.
  Session(const Settings& settings, std::shared_ptr<const train::Registry> registry);
  // The same; `make` makes the engine, such as one whose link is slow, for tests.
  using MakeEngine =
      std::function<std::unique_ptr<comm::Engine>(std::unique_ptr<comm::Bootstrap>, comm::EngineOptions)>;
  Session(const Settings& settings, const MakeEngine& make);
  // With ranks that meet in another way.
  Session(const Settings& settings, std::unique_ptr<comm::Bootstrap> bootstrap,
          std::shared_ptr<const train::Registry> registry = nullptr);
  // With an engine that somebody else has made, such as one of a test whose ranks are threads.
  explicit Session(std::unique_ptr<comm::Engine> engine);
  Session(std::unique_ptr<comm::Engine> engine, const Settings& settings,
          std::shared_ptr<const train::Registry> registry = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const;
  int size() const;
  int local_rank() const;  // among the ranks of this node
  int local_size() const;
  int node_rank() const;  // the number of this node

  torch::Device device() const;  // train.device; a GPU by local rank. FAILS WITH: BadInput where there is none
  comm::Engine& engine() const;
  comm::Group world() const;
  const Settings& settings() const;               // as they were given: ronde/base/settings/settings.h reads them
  const train::TrainingOptions& options() const;  // what they ask a training to do
  const train::Registry& registry() const;        // what they may name besides what is built in
  // Tells the trace, and whoever asks what this rank is doing.
  void begin_step(std::int64_t number) const;
  trace::Recorder* recorder() const;  // none: trace.dir is empty
  // Ends this rank's part because of a failure: the other ranks learn why, and so does whoever reads the trace.
  void fail(const std::string& why) const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde
