#pragma once

#include <utility>

#include "ronde/base/system/file_descriptor.h"

// What POSIX 2024 calls FD_CLOFORK, and Linux does not have: descriptors that a forked child does not keep. A child
// that held the sockets of its parent (a worker of a DataLoader, say) would hide the parent's death from the other
// ranks.
namespace ronde::comm::support {

// As long as it lives, a child that is forked finds /dev/null at this number. The number stays taken there, so that a
// destructor that runs in the child closes nothing that is not ours.
// Safe to use from any thread.
class CloseOnFork {
 public:
  CloseOnFork() = default;
  explicit CloseOnFork(int descriptor);
  CloseOnFork(CloseOnFork&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  CloseOnFork& operator=(CloseOnFork&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~CloseOnFork() { end(); }

  // To be called before the descriptor is closed: its number may be another's the moment after.
  void end();

 private:
  int descriptor_ = -1;
};

// A FileDescriptor that forked children do not keep.
class CloforkDescriptor {
 public:
  CloforkDescriptor() = default;
  CloforkDescriptor(FileDescriptor descriptor)  // NOLINT: one is as good as the other
      : descriptor_(std::move(descriptor)), guard_(descriptor_.get()) {}

  void close() {
    guard_.end();
    descriptor_.close();
  }
  int get() const { return descriptor_.get(); }
  explicit operator bool() const { return static_cast<bool>(descriptor_); }

 private:
  FileDescriptor descriptor_;
  CloseOnFork guard_;  // goes first
};

}  // namespace ronde::comm::support
