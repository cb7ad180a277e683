#pragma once

#include <chrono>

#include "ronde/base/error.h"

namespace ronde::device::detail {

using HostTime = std::chrono::steady_clock::time_point;

// Time between two marks on the host's stream; refuses marks that cannot be compared.
inline std::chrono::duration<double> elapsed_on_host(HostTime from, HostTime to) {
  if (from == HostTime{} || to == HostTime{})
    throw Error::bad_input("cannot measure the time between two events: one of them was never recorded");
  return to - from;
}

inline void require_timing(bool from, bool to) {
  if (!from || !to)
    throw Error::bad_input("cannot measure the time between two events: one of them was created without timing");
}

inline void require_same_device(int event, int stream) {
  if (event != stream)
    throw Error::bad_input("an event of device {} cannot be used with device {} (-1 is the host)", event, stream);
}

}  // namespace ronde::device::detail
