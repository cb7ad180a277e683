#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace ronde::parallel {

// What CPU tensors of this process used at the end of one of torch's operations.
struct MemoryMark {
  std::uint64_t peak = 0;    // most since the mark before, within the operation too
  std::uint64_t in_use = 0;  // at its end
};

// While it lives, it writes down what tensors use, one of torch's operations after the other, those that operations are
// made of included. Only operations of its thread, the backward pass of CPU tensors among them; but the memory is that
// of all. ArenaStatistics::peak is of no use meanwhile, and right again afterwards.
// REQUIRES: the arena is installed; lives on the stack of one thread; one at a time in a process.
class MemoryWatch {
 public:
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // All so far, and one more for what came after the last operation.
  std::vector<MemoryMark> take();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::parallel
