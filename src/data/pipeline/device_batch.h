#pragma once

#include "ronde/data/sample.h"
#include "ronde/device/stream.h"

namespace ronde::data {

// Copies samples to a GPU by a stream of its own, so that copies and kernels overlap. One thread at a time may call it.
class DeviceCopier {
 public:
  // FAILS WITH: BadInput for a GPU that is not there, saying why.
  explicit DeviceCopier(int device);

  // The same arrays on the GPU, all there on return. FAILS WITH: System.
  Sample copy(const Sample& sample) const;

 private:
  device::Stream stream_;
};

}  // namespace ronde::data
