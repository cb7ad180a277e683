#include "ronde/train/loop/feed.h"

#include <utility>

#include "ronde/train/precision.h"

namespace ronde::train {

Feed::Feed(data::Pipeline& batches, const Session& session, const Task& task, const Mixing& mixing)
    : batches_(batches), task_(task), mixing_(mixing) {
  const torch::Device device = session.device();
  if (!device.is_cuda()) return;
  // Pictures are made anew on the GPU, in the type that the network computes in; other numbers stay as they are.
  const bool short_type = task.samples->kind().u8 && parse_precision(session.options().precision) == Precision::BF16;
  on_gpu_.emplace(batches, DeviceInputOptions{.device = device,
                                              .type = short_type ? torch::kBFloat16 : torch::kFloat32,
                                              .channels_last = task.channels_last,
                                              .mixup = mixing.alpha,
                                              .seed = mixing.seed});
}

std::optional<StepBatch> Feed::next() {
  if (on_gpu_) {
    auto batch = on_gpu_->next();
    if (batch) ignore_class(task_.ignored, batch->targets);
    return batch;
  }
  auto batch = batches_.next_batch();
  if (!batch) return {};
  return step_batch_of(std::move(*batch), task_, torch::kCPU, mixing_);
}

}  // namespace ronde::train
