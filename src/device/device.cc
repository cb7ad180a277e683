#include "ronde/device/device.h"

#include "ronde/base/error.h"

namespace ronde::device {

void require_gpu(int device) {
  const int gpus = count();
  if (device >= 0 && device < gpus) return;
  if (gpus == 0) throw Error::bad_input("GPU {} is not available: {}", device, why_none());
  throw Error::bad_input("there is no GPU {}: this machine has {}, numbered from 0", device, gpus);
}

}  // namespace ronde::device
