#include "ronde/train/loop/training_stream.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::train {

struct TrainingStream::Guard {
  explicit Guard(c10::Stream stream) : scope(stream) {}
  c10::StreamGuard scope;
};

TrainingStream::TrainingStream(torch::Device device) : device_(device) {
  if (!device.is_cuda()) return;
  synchronize();
  guard_ = std::make_unique<Guard>(
      c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/false));
}

TrainingStream::~TrainingStream() {
  if (!guard_) return;
  try {
    synchronize();
  } catch (const std::exception&) {  // whoever uses the GPU next is told
  }
}

void TrainingStream::synchronize() const {
  if (!device_.is_cuda()) return;
  RONDE_SPAN(trace::span_names::kWaitForDevice, "wait");
  torch::cuda::synchronize(device_.index());
}

}  // namespace ronde::train
