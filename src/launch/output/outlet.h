#pragma once

#include <cstddef>
#include <string>

namespace ronde::launch::detail {

// Bytes on their way to a descriptor whose reader may be slow. Never blocks, and needs no O_NONBLOCK, which would
// change the descriptor for all who share it, the user's shell among them.
class Outlet {
 public:
  static constexpr std::size_t kEnough = 1 << 20;  // more should not be added before some is written

  explicit Outlet(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_; }
  std::string& bytes() { return bytes_; }  // append here
  bool empty() const { return bytes_.empty(); }
  bool full() const { return bytes_.size() >= kEnough; }
  bool broken() const { return broken_; }  // nobody reads; what is added is thrown away

  // REQUIRES: poll(2) has said that it can be written to.
  void write_some();

 private:
  int descriptor_;
  std::string bytes_;
  std::size_t written_ = 0;  // of bytes_
  bool broken_ = false;
};

}  // namespace ronde::launch::detail
