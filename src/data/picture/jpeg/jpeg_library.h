#pragma once

// What reading and writing of JPEGs have in common: how libjpeg reports, and how much memory it takes.

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

namespace ronde::data::picture {

class JpegScan;

// The library's way to fail is a function that must not return. Ours jumps back to guarded(), whose caller then throws.
// It belongs to one structure of the library for as long as that lives.
class JpegEscape {
 public:
  // Sets the structure's functions; its memory is counted from then on once watch_memory() was called.
  template <class Structure>
  void attach(Structure& structure) {
    structure.err = errors();
    structure.client_data = this;
  }
  // After jpeg_create_...
  void watch_memory(jpeg_memory_mgr& memory);

  // Whether `action` came to its end. Nothing with a destructor may live between here and the library: `action` is a
  // lambda that captures references and calls it.
  template <class Action>
  [[gnu::noinline]] bool guarded(Action&& action) {
    if (setjmp(jump_) != 0) return false;
    action();
    return true;
  }
  const char* message() const { return message_.data(); }
  // Ends what guarded() began. REQUIRES: to be called from within, with nothing in between that has a destructor.
  [[noreturn]] void leave_with(const char* message);

  JpegScan* scan = nullptr;  // who reads this structure's coefficients in the library's place

  std::size_t used() const { return used_; }
  void forget_used() { used_ = 0; }

 private:
  jpeg_error_mgr* errors();
  [[noreturn]] static void leave(j_common_ptr info);
  static void hear(j_common_ptr info, int level);
  static JpegEscape& of(j_common_ptr info) { return *static_cast<JpegEscape*>(info->client_data); }
  friend struct JpegMemory;
  friend void stop_endless_scans(j_common_ptr info);

  std::jmp_buf jump_{};
  std::array<char, JMSG_LENGTH_MAX> message_{};
  jpeg_error_mgr errors_{};
  jpeg_memory_mgr memory_{};  // as the library made it
  std::size_t used_ = 0;
};

// For jpeg_progress_mgr: a progressive picture of any number of scans would keep us for as long as its writer likes.
void stop_endless_scans(j_common_ptr info);

}  // namespace ronde::data::picture
