#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ronde/comm/engine.h"
#include "ronde/comm/testing/call.h"
#include "ronde/device/memory.h"

namespace ronde::comm::tests {

// How one member hands a call over. Each may choose for itself: nothing of this has to agree.
struct Placement {
  enum class Result { InPlace, Given, Allocated, OfEngine };
  Result result = Result::InPlace;  // a call that cannot be in place takes OfEngine instead
  bool shared = false;              // memory from engine.allocate()
  int gpu = device::kHost;          // memory of a GPU, instead
  std::size_t offset = 0;           // in elements: how far from a well aligned address the data lies

  static Placement draw(Random& random);
  Placement on(int which) const;
};

// Memory with a fence on both sides, on the heap or in what ranks share.
class Storage {
 public:
  Storage() = default;
  Storage(Engine& engine, std::size_t bytes, const Placement& placement, std::size_t element);
  std::byte* data() const { return gpu_ ? gpu_->data() + (data_ - begin_) : data_; }
  std::byte* on_host() const { return data_; }  // the same, or its copy there
  void to_gpu() const;                          // the copy; does nothing for host memory,
  void from_gpu() const;                        // nor does this
  bool fences_stand() const;

 private:
  std::shared_ptr<device::DeviceBuffer> gpu_;
  std::shared_ptr<void> owner_;
  std::byte* begin_ = nullptr;
  std::byte* data_ = nullptr;
  std::byte* end_ = nullptr;      // of the data
  std::byte* end_all_ = nullptr;  // of the fence behind it
};

// A call on its way on one member: holds the memory, and checks what has come.
class Pending {
 public:
  // REQUIRES: submits(call, group.rank()).
  Pending(Engine& engine, const Group& group, Call call, const Placement& placement);

  Request request();  // what to submit
  void on_its_way(Handle handle) { handle_ = std::move(handle); }
  const Handle& handle() const { return handle_; }
  const Call& call() const { return call_; }

  // Waits for the result. Returns what is wrong with it: nothing, or a line that tells all about the call.
  std::string check();

 private:
  std::string problem_with(const Result& result) const;
  std::vector<const Storage*> storages() const;
  Buffer buffer(const Storage& storage, const Shape& shape) const;

  const Call call_;
  const int member_;
  const int members_;
  Placement placement_;
  Storage input_, output_;
  std::vector<std::shared_ptr<Storage>> allocated_;
  Engine* engine_;
  Handle handle_;
};

// Submits calls to a group and checks their results.
struct Order {
  std::uint64_t seed = 0;  // of how this member shuffles what it submits; 0: not at all
  bool grouped = false;    // all in one submission
  int gpu = device::kHost;
};
// Returns what was wrong, one line each; nothing when all is well.
std::vector<std::string> run_calls(Engine& engine, const Group& group, const std::vector<Call>& calls,
                                   const Order& order = {});

}  // namespace ronde::comm::tests
