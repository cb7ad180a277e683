#pragma once

#include <cstddef>
#include <string>
#include <vector>

// GPUs, seen the same way whether or not this build has CUDA and this machine has a GPU: code above needs no #if.
// Everything here may be called from any thread.
namespace ronde::device {

// Where a GPU's number is asked for, this stands for the host.
inline constexpr int kHost = -1;

// How many GPUs there are to use. 0 is no error: why_none() tells the reason.
int count();

// One sentence on why count() is 0: no CUDA in this build, no driver, no GPU, in CUDA's own words. Empty otherwise.
std::string why_none();

struct Info {
  int index = 0;
  std::string name;
  int major = 0;  // compute capability 9.0: major 9, minor 0
  int minor = 0;
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;  // now; asking opens the GPU and takes some of it
  std::string bus_id;          // 0000:1b:00.0, as topology has it
  int multiprocessors = 0;
};

// FAILS WITH: System, naming the GPU that does not answer.
std::vector<Info> list();

// As in Info, but the GPU stays closed. FAILS WITH: BadInput when there is no GPU of that number.
std::string bus_id(int device);

std::string runtime_version();  // "13.0" of the CUDA library; empty in a build without
std::string driver_version();   // the newest CUDA that the driver can do; empty without a driver

// Makes a GPU the calling thread's current one for as long as this lives; then the one before is current again.
// With kHost it does nothing.
// FAILS WITH: BadInput for a GPU that is not there, with the reason.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = kHost;
};

// FAILS WITH: BadInput when there is no GPU of that number, saying how many there are or why there is none.
void require_gpu(int device);

}  // namespace ronde::device
