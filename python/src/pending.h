#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <torch/extension.h>

#include "ronde/comm/handle.h"

namespace ronde::python {

// One tensor on its way.
struct Travelling {
  comm::Handle handle = {};
  at::Tensor input = {};   // kept here, and not by the engine: its threads must never be the last to let a tensor go,
                           // since Python's lock may be needed for that
  at::Tensor output = {};  // undefined: the engine asks for memory when it knows the shape
  at::Tensor copy = {};    // of a tensor on a device, on the host, where it travels; its result goes to `output`
  at::Device device = at::kCPU;        // where the caller's tensor is
  std::vector<std::int64_t> row = {};  // the shape of a row of what the engine makes memory for
};

// A request, or several that were made together: what an integer handle stands for.
struct Pending {
  enum class Result { Nothing, One, Many, WithSplits, LastJoined };
  Result result = Result::One;
  c10::SmallVector<Travelling, 1> parts = {};
  at::ScalarType splits_type = at::kInt;  // WithSplits: what the caller's splits are made of

  bool poll() const;
  // Waits without Python's lock; call with it. FAILS WITH: as Handle::wait().
  void wait();
  // What synchronize() returns; after wait(). A new reference.
  PyObject* take_result();
};

// By integer, as Horovod's users know handles. Numbers go up, so slots lie in the order in which they are used; a
// number whose slot is taken by a request that nobody waits for is left out.
class PendingTable {
 public:
  int add(Pending pending);
  Pending* find(int handle);  // nullptr: there is none, or it was taken
  void remove(int handle);
  void clear();

 private:
  static constexpr int kFree = -1;
  struct Slot {
    int handle = kFree;
    Pending pending = {};
  };
  static int after(int handle) { return handle == std::numeric_limits<int>::max() ? 1 : handle + 1; }
  Slot& slot_of(int handle) { return slots_[static_cast<std::size_t>(handle) & (slots_.size() - 1)]; }
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(64);  // always a power of two
  std::size_t live_ = 0;
  int next_ = 1;  // programs ask a handle whether it is one
};

}  // namespace ronde::python
