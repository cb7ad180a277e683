#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ronde::device {

// One piece of work that a GPU has done.
struct Activity {
  enum class Kind {
    Kernel,
    Collective,  // a kernel that moves data between GPUs
    Copy,        // also filling memory with a value
  };
  Kind kind = Kind::Kernel;
  int device = 0;
  std::uint32_t stream = 0;   // CUPTI's number of it, unique in the process
  std::int64_t begin_ns = 0;  // std::chrono::steady_clock
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;     // of copies
  std::string_view name = {};  // "at::native::reduce_kernel", "copy host to device"; stays as long as the recorder
};

// One sentence on why the work of GPUs cannot be recorded here, as far as that shows without trying: no CUDA, no GPU, a
// build without CUPTI's headers, no library of CUPTI. Empty: it can be tried.
std::string why_no_activity();

// While it lives, collects what the GPUs do for this process, each kernel of a CUDA graph by itself.
//
//   ActivityRecorder recorder([](std::span<const Activity> done) { ... });
//
// CUPTI is a guest that a process can have once. So there is one of these at a time, and none beside another profiler
// (Nsight, torch's): whoever comes first has it until it goes.
class ActivityRecorder {
 public:
  // Is given what was done, some thousand pieces at a time, seconds later and in no strict order; always on one thread,
  // which is the recorder's own. Must not throw.
  using Sink = std::function<void(std::span<const Activity> done)>;

  // Best made before the GPU is first used: CUPTI then has to catch up on nothing.
  // FAILS WITH: System, with the sentence of why_no_activity() or CUPTI's own words.
  explicit ActivityRecorder(Sink sink);
  // Hands over what is left; work that GPUs have not finished is left out. The sink is not called again.
  ~ActivityRecorder();
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  // Work that is launched while it is off is not recorded, and costs nothing. It begins on. Safe from any thread.
  // FAILS WITH: System, in CUPTI's words.
  void set_on(bool on);

  std::uint64_t dropped() const;  // pieces lost so far: no room, or no times. Safe from any thread

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::device
