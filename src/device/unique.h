#pragma once

#include <utility>

namespace ronde::device {

// Owns a handle that some library gives out: moved, never copied, destroyed once. A null handle owns nothing.
//
//   using OwnedStream = Unique<CUstream_st*, destroy_stream>;
//
// REQUIRES: `destroy` does not throw; Handle{} stands for nothing.
template <class Handle, auto destroy>
class Unique {
 public:
  Unique() noexcept = default;
  explicit Unique(Handle handle) noexcept : handle_(handle) {}
  Unique(Unique&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Unique& operator=(Unique&& other) noexcept {
    Unique taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~Unique() {
    if (handle_ != Handle{}) destroy(handle_);
  }

  Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Handle{}; }

 private:
  Handle handle_{};
};

}  // namespace ronde::device
