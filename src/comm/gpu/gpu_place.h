#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "ronde/device/device.h"

namespace ronde::comm::detail {

// Where a member's GPU is.
struct GpuPlace {
  std::string host;
  int device = device::kHost;
  std::string bus_id;
  int rank = -1;  // in the job, as people know it

  // What members hand round to tell each other; at most kMostBytes, of an endless host name the front.
  std::string to_text() const;
  // FAILS WITH: Mismatch when the text is something else.
  static GpuPlace from_text(std::string_view text);
  std::string to_words() const;  // "rank 1 (host b2, GPU 0 0000:1b:00.0)"

  static constexpr std::size_t kMostBytes = 200;
};

// What members tell each other first, as it travels: the text of a GpuPlace, or, behind a '!', why there is no NCCL.
// What is too long is cut.
using GpuWord = std::array<char, GpuPlace::kMostBytes + 1>;
GpuWord gpu_word(std::string_view text);
// Up to the first zero. A member may have sent one without any.
std::string_view text_of(const GpuWord& word);

}  // namespace ronde::comm::detail
