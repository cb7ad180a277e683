#pragma once

namespace ronde::device {

// In 10^9 bytes a second; 0: there is no such link.
struct CopyRates {
  double memory_gb_s = 0;  // read and written by a copy on the GPU itself
  double host_gb_s = 0;    // from pinned memory to the GPU
  double peer_gb_s = 0;    // to the next GPU
};

// Copies 256 MiB a few times: a fifth of a second. REQUIRES: count() > 0. FAILS WITH: System.
CopyRates measure_copies(int device);

}  // namespace ronde::device
