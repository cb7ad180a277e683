#include "ronde/data/pipeline/device_batch.h"

#include <memory>
#include <utility>

#include "ronde/device/memory.h"
#include "ronde/trace/span.h"

namespace ronde::data {

DeviceCopier::DeviceCopier(int device) : stream_((device::require_gpu(device), device)) {}

Sample DeviceCopier::copy(const Sample& sample) const {
  RONDE_SPAN("copy to device", "copy", {{"bytes", sample.bytes()}});
  Sample copy;
  for (const Sample::Named& named : sample.arrays()) {
    auto memory = std::make_shared<const device::DeviceBuffer>(stream_.device(), named.array.bytes());
    device::copy_async(memory->data(), named.array.data(), named.array.bytes(), stream_);
    copy.set(named.name,
             Array::on_device(named.array.type(), named.array.shape(), memory->data(), memory, stream_.device()));
  }
  stream_.synchronize();
  return copy;
}

}  // namespace ronde::data
