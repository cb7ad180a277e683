#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "ronde/comm/engine.h"

namespace ronde::comm {

// Where an engine is in its work.
enum class Phase { Idle, Negotiating, Voting, Reducing, ShuttingDown };

namespace detail {

class Link;
class NcclStandIn;
class Transport;

// What tests change about an engine, and hear from it.
struct EngineHooks {
  // Called by whoever carries the engine's work, whenever it comes into a phase.
  std::function<void(Phase)> on_phase = nullptr;
  // Host memory goes the way of a GPU's; with a stand-in for NCCL, the way it goes by NCCL.
  bool stage_host = false;
  std::shared_ptr<NcclStandIn> nccl = nullptr;
  // Buffers of GPUs that go through the host's memory do so in chunks of so many bytes: long enough that a copy is not
  // all overhead, short enough that several are under way.
  std::size_t stage_bytes = std::size_t{4} << 20;
  // Every operation of the link begins this much later.
  std::chrono::nanoseconds link_delay = std::chrono::nanoseconds(0);
  // What stands between the engine and its links, and what carries its data between nodes.
  std::function<std::unique_ptr<Link>(std::unique_ptr<Link>)> wrap_link = nullptr;
  std::function<std::shared_ptr<Transport>(Transport& mesh)> wrap_mesh = nullptr;
};

// As Engine's constructor.
std::unique_ptr<Engine> make_engine(std::unique_ptr<Bootstrap> bootstrap, EngineOptions options, EngineHooks hooks);

}  // namespace detail
}  // namespace ronde::comm
