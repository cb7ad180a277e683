#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "ronde/comm/execute/execute.h"
#include "ronde/device/memory.h"
#include "ronde/device/stream.h"

namespace ronde::comm::detail {

// Host memory that the link uses directly and GPUs reach by themselves. Kept, since pinning takes milliseconds.
class PinnedScratch {
 public:
  explicit PinnedScratch(Arena& arena) : scratch_(arena) {}
  // The same memory as before, if that is large enough; nobody must be using it any more. FAILS WITH: System.
  std::byte* take(std::size_t bytes);
  void give_back();

 private:
  Scratch scratch_;
  std::span<std::byte> pinned_ = {};
  device::Pin pin_;
};

struct DevicePathOptions {
  std::function<void()> wake;   // called by a thread of CUDA's when a copy is done
  std::size_t chunk_bytes = 0;  // EngineHooks::stage_bytes
  bool on_host = false;         // tests: host memory goes the same way
};

// How buffers of GPUs travel in one group: through pinned memory of the host and the link, in chunks, so that copies in
// both directions go on while the link works on others.
//
// For whoever carries the engine's work.
class DevicePath {
 public:
  DevicePath(Arena& arena, DevicePathOptions options);
  ~DevicePath();
  DevicePath(const DevicePath&) = delete;
  DevicePath& operator=(const DevicePath&) = delete;

  bool takes(const Work& work) const;
  // As execute_allreduce, and execute_alone for each. When it is done, results are in their place.
  Task run(Link& link, std::vector<Work> works, bool fused, Scratch& scratch);
  // Waits for copies that are under way, so that their memory may go.
  void settle() noexcept;
  // The same, and lets go of the memory of its own. REQUIRES: no task is under way.
  void stop();
  bool copies() const;  // some are under way
  // A GPU that is broken calls nobody back. FAILS WITH: System, in CUDA's words.
  void check() const;

 private:
  // A stream that tells how much of what was put into it is done.
  struct Lane {
    device::Stream stream;
    std::uint64_t asked = 0;
    std::atomic<std::uint64_t> done = 0;
    const std::function<void()>* wake = nullptr;
  };
  struct Lanes {
    Lane down, up;  // from the GPU, and to it
  };
  struct Exchanged;

  Lanes& lanes_of(const std::vector<Work>& works);
  static void mark(Lane& lane);
  static Task drained(Lane& lane);
  static Task reduce_chunk(Link& link, Bytes values, const Description& kind, Scratch& scratch);
  Task in_chunks(Link& link, std::vector<Work> works, Scratch& scratch);
  Task as_a_whole(Link& link, std::vector<Work> works, bool fused, Scratch& scratch);

  const std::function<void()> wake_;
  const bool on_host_;
  const std::size_t chunk_bytes_;
  PinnedScratch pinned_;
  std::map<int, Lanes> lanes_;  // by GPU
};

}  // namespace ronde::comm::detail
