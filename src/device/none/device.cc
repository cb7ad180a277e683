#include "ronde/device/device.h"
#include "ronde/device/memory_use.h"

namespace ronde::device {

int count() {
  return 0;
}

std::string why_none() {
  return "this build has no CUDA";
}

std::vector<Info> list() {
  return {};
}

std::string bus_id(int device) {
  require_gpu(device);
  return {};
}

MemoryUse memory_use(int device) {
  require_gpu(device);
  return {};
}

std::string runtime_version() {
  return {};
}

std::string driver_version() {
  return {};
}

CurrentDevice::CurrentDevice(int device) {
  if (device != kHost) require_gpu(device);
}

CurrentDevice::~CurrentDevice() = default;

}  // namespace ronde::device
