#include "ronde/base/error.h"
#include "ronde/comm/gpu/device_link.h"

// A build without NCCL: buffers of GPUs go through the host's memory.
namespace ronde::comm::detail {

std::string why_no_nccl() {
  return "this build has no NCCL";
}

std::string nccl_version() {
  return {};
}

std::string make_nccl_id() {
  throw Error::bad_input("GPUs cannot be connected: {}", why_no_nccl());
}

std::unique_ptr<DeviceLink> make_nccl_link(NcclOptions) {
  throw Error::bad_input("GPUs cannot be connected: {}", why_no_nccl());
}

}  // namespace ronde::comm::detail
