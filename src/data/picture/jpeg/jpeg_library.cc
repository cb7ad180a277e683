#include "ronde/data/picture/jpeg/jpeg_library.h"

// After jpeglib.h, which it needs.
#include <jerror.h>

namespace ronde::data::picture {
namespace {

constexpr int kMostScans = 200;  // cameras and programs write about ten
constexpr std::size_t kBlock = sizeof(JBLOCK), kAligned = 64;

// What the library calls a warning, and nobody minds: no pixel is any different.
bool harmless(int code) {
  return code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || code == JWRN_EXTRANEOUS_DATA || code == JWRN_BOGUS_ICC;
}

}  // namespace

// Stands before the library's own functions and adds up what they are asked for.
struct JpegMemory {
  static jpeg_memory_mgr& add(j_common_ptr info, std::size_t bytes) {
    JpegEscape& escape = JpegEscape::of(info);
    escape.used_ += bytes;
    return escape.memory_;
  }
  static void* small(j_common_ptr info, int pool, std::size_t bytes) {
    return add(info, bytes + kAligned).alloc_small(info, pool, bytes);
  }
  static void* large(j_common_ptr info, int pool, std::size_t bytes) {
    return add(info, bytes + kAligned).alloc_large(info, pool, bytes);
  }
  static JSAMPARRAY samples(j_common_ptr info, int pool, JDIMENSION a_row, JDIMENSION rows) {
    return add(info, (a_row + kAligned + sizeof(JSAMPROW)) * rows).alloc_sarray(info, pool, a_row, rows);
  }
  static JBLOCKARRAY blocks(j_common_ptr info, int pool, JDIMENSION a_row, JDIMENSION rows) {
    return add(info, (a_row * kBlock + sizeof(JBLOCKROW)) * rows).alloc_barray(info, pool, a_row, rows);
  }
  static jvirt_barray_ptr whole(j_common_ptr info, int pool, boolean zero, JDIMENSION a_row, JDIMENSION rows,
                                JDIMENSION at_a_time) {
    return add(info, (a_row * kBlock + sizeof(JBLOCKROW)) * rows)
        .request_virt_barray(info, pool, zero, a_row, rows, at_a_time);
  }
};

jpeg_error_mgr* JpegEscape::errors() {
  jpeg_std_error(&errors_);
  errors_.error_exit = leave;
  errors_.emit_message = hear;
  errors_.output_message = [](j_common_ptr) {};
  return &errors_;
}

void JpegEscape::watch_memory(jpeg_memory_mgr& memory) {
  memory_ = memory;
  memory.alloc_small = JpegMemory::small;
  memory.alloc_large = JpegMemory::large;
  memory.alloc_sarray = JpegMemory::samples;
  memory.alloc_barray = JpegMemory::blocks;
  memory.request_virt_barray = JpegMemory::whole;
}

void JpegEscape::leave(j_common_ptr info) {
  JpegEscape& escape = of(info);
  info->err->format_message(info, escape.message_.data());
  std::longjmp(escape.jump_, 1);
}

void JpegEscape::leave_with(const char* message) {
  std::snprintf(message_.data(), message_.size(), "%s", message);
  std::longjmp(jump_, 1);
}

void JpegEscape::hear(j_common_ptr info, int level) {
  if (level < 0 && !harmless(info->err->msg_code)) leave(info);
}

void stop_endless_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  JpegEscape& escape = JpegEscape::of(info);
  std::snprintf(escape.message_.data(), escape.message_.size(), "more than %d scans", kMostScans);
  std::longjmp(escape.jump_, 1);
}

}  // namespace ronde::data::picture
