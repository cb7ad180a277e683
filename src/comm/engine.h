#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/comm/bootstrap.h"
#include "ronde/comm/group.h"
#include "ronde/trace/recorder.h"

namespace ronde {
class Settings;
}

namespace ronde::comm {

struct EngineOptions {
  std::size_t fusion_bytes = std::size_t{64} << 20;       // comm.fusion_bytes
  std::size_t first_bucket_bytes = std::size_t{1} << 20;  // comm.first_bucket_bytes
  std::size_t arena_bytes = std::size_t{16} << 30;        // comm.arena_bytes; address space, filled as it is used
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(1);    // comm.start_timeout
  std::chrono::nanoseconds stall_warn = std::chrono::seconds(30);      // comm.stall_warn
  std::chrono::nanoseconds stall_abort = std::chrono::nanoseconds(0);  // comm.stall_abort; zero: never
  bool deterministic = false;                                          // comm.deterministic
  int pretend_nodes = 1;                                               // topology.pretend_nodes
  std::string interfaces = {};                                         // comm.interface
  std::chrono::nanoseconds peer_timeout = std::chrono::seconds(6);     // comm.peer_timeout
  std::string engine_cpus = {};                                        // for its thread; empty: any
  bool tcp_only = false;                                               // comm.between is tcp
  bool static_plan = false;                                            // comm.static
  bool autotune = false;                                               // comm.autotune
  std::string autotune_file = {};                                      // comm.autotune_file

  Log log = Log();
  trace::Recorder* recorder = nullptr;  // must outlive the engine
};
// What the settings comm.* ask for. The caller adds log and recorder.
EngineOptions engine_options(const Settings& settings);

// What an engine has done so far.
struct Statistics {
  std::uint64_t requests = 0;          // done, failed ones included
  std::uint64_t buckets = 0;           // moved
  std::uint64_t negotiations = 0;      // rounds in which members agreed on requests one by one
  std::uint64_t votes = 0;             // rounds in which one word was enough
  std::uint64_t plans = 0;             // made
  std::uint64_t plans_given_up = 0;    // because somebody deviated, or to be made anew by autotune
  std::uint64_t tunings = 0;           // by autotune: how often it has changed something
  std::uint64_t control_messages = 0;  // sent by this rank to agree
  std::uint64_t control_bytes = 0;     //
  std::uint64_t wake_ups = 0;          // of the engine's thread,
  std::uint64_t caller_wake_ups = 0;   // and of threads of the program that sleep in a call in its place
  // Of the thread that watches sockets.
  std::uint64_t watchdog_wake_ups = 0;
};

// Memory that the link uses directly, without a copy. Freed when this goes, which may be after the engine.
class SharedMemory {
 public:
  SharedMemory() = default;
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  friend class Engine;
  SharedMemory(std::shared_ptr<std::byte> data, std::size_t size) : data_(std::move(data)), size_(size) {}
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

// One rank's part in all communication of a job. A thread of its own carries what is pending; it sleeps while there is
// nothing to do. Several engines may live in one process.
//
//   Engine engine(bootstrap_from(Environment::of_process(), Deadline::after(1min)), engine_options(settings));
//   std::vector<float> values(1000, engine.rank());
//   engine.world().allreduce("values", buffer_of(values)).wait();
//
// Safe to call from any thread, except that shutting down must be the last call.
class Engine {
 public:
  // Meets the other ranks. FAILS WITH: PeerLost, Timeout, System; BadInput.
  explicit Engine(std::unique_ptr<Bootstrap> bootstrap, EngineOptions options = {});
  ~Engine();  // shuts down
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const;
  int size() const;
  int local_rank() const;  // among the ranks of this machine
  int local_size() const;
  int node() const;   // the number of this machine
  int nodes() const;  // of machines in the job
  int node_of(int rank) const;

  Group world() const;
  // Makes a group of these ranks of the job, in this order. Every rank of the job calls it, members or not, with the
  // same ranks and in the same order among calls of make_group and drop_group; waits until all have.
  // FAILS WITH: BadInput (ranks that are not there or twice), Mismatch, PeerLost, Timeout.
  Group make_group(std::vector<int> ranks);
  // Every rank of the job calls it. FAILS WITH: BadInput when this rank has requests on their way in it, or for the
  // world, or for a group of make_group_among(); as make_group.
  void drop_group(const Group& group);

  // The same for the members alone: the other ranks need not know of it. `members` is a way by which the members meet,
  // each with its place in `ranks`; it is used once. `number`, from 1 on, is the same on all members, and no other
  // group that was made so in this job has it. FAILS WITH: BadInput (ranks or a number that cannot be, or this rank is
  // not a member); as the bootstrap's exchange.
  Group make_group_among(std::vector<int> ranks, std::uint32_t number, Bootstrap& members);
  // This rank gives its part of such a group back. REQUIRES: no member uses it any more.
  // FAILS WITH: BadInput when this rank has requests on their way in it, or for a group that was made in another way.
  void drop_group_among(const Group& group);

  // FAILS WITH: System when comm.arena_bytes are used up.
  SharedMemory allocate(std::size_t bytes);

  // The step that this rank is in, for reports about ranks that do not come.
  void set_step(std::int64_t step);

  Statistics statistics() const;

  // Ends this rank's part: what is still on its way here fails, and the others learn that this rank has left, and
  // `why` if there is a reason. May be called again. Nothing is waited for: what was agreed and done needs no more.
  void shutdown(const std::string& why = "");

 private:
  friend class detail::EngineCore;
  explicit Engine(std::unique_ptr<detail::EngineCore> core);

  std::unique_ptr<detail::EngineCore> core_;
};

}  // namespace ronde::comm
