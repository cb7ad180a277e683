#include "ronde/device/device.h"
#include "ronde/base/text/format.h"

#include <array>

#include "ronde/device/cuda/check.h"
#include "ronde/device/memory_use.h"

namespace ronde::device {
namespace {

struct Counted {
  int gpus = 0;
  cudaError_t result = cudaSuccess;
};

// Every failure to count means that there is nothing to use; which one it was is for why_none().
Counted count_gpus() {
  Counted counted;
  counted.result = cudaGetDeviceCount(&counted.gpus);
  if (counted.result != cudaSuccess) {
    counted.gpus = 0;
    (void)cudaGetLastError();  // an ordinary answer; the next caller is not to trip over it
  }
  return counted;
}

std::string format_version(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Info read_info(int device) {
  const CurrentDevice current(device);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "querying the properties of a GPU");
  Info info;
  info.index = device;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.bus_id = bus_id(device);
  const MemoryUse memory = memory_use(device);
  info.total_bytes = memory.total_bytes;
  info.free_bytes = memory.free_bytes;
  return info;
}

}  // namespace

int count() {
  return count_gpus().gpus;
}

std::string why_none() {
  const Counted counted = count_gpus();
  if (counted.gpus > 0) return {};
  const std::string driver = driver_version();
  const std::string missing =
      driver.empty() ? "no driver" : fmt::format("no GPU (the driver supports CUDA {})", driver);
  const std::string words =
      counted.result == cudaSuccess ? "" : fmt::format("; CUDA reports: {}", cudaGetErrorString(counted.result));
  return fmt::format("CUDA {} is built in, but there is {}{}", runtime_version(), missing, words);
}

std::vector<Info> list() {
  std::vector<Info> infos;
  for (int device = 0; device < count(); ++device) infos.push_back(read_info(device));
  return infos;
}

std::string bus_id(int device) {
  require_gpu(device);
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), text.size(), device), "querying the bus id of a GPU");
  std::string id = text.data();
  for (char& letter : id)
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  return id;
}

MemoryUse memory_use(int device) {
  const CurrentDevice current(device);
  MemoryUse memory;
  check(cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes), "querying the memory of a GPU");
  return memory;
}

std::string runtime_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "querying the version of CUDA");
  return format_version(version);
}

std::string driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "querying the version of the driver");
  return format_version(version);
}

// On the way of every copy, hence as few calls as possible: nothing is switched that need not be, and whether the GPU
// exists is asked only after a failure.
CurrentDevice::CurrentDevice(int device) {
  if (device == kHost) return;
  int before = kHost;
  cudaError_t result = cudaGetDevice(&before);
  if (result == cudaSuccess && before == device) return;
  if (result == cudaSuccess) result = cudaSetDevice(device);
  if (result != cudaSuccess) {
    (void)cudaGetLastError();
    require_gpu(device);
    check(result, fmt::format("switching to GPU {}", device));
  }
  before_ = before;
}

CurrentDevice::~CurrentDevice() {
  if (before_ != kHost) (void)cudaSetDevice(before_);  // it was current, so it can be again
}

}  // namespace ronde::device
