#pragma once

#include <memory>

#include <torch/torch.h>

namespace ronde::train {

// While it lives, work of this thread on a GPU goes into a stream that is not the default one: a step can be recorded
// there. What was put into the stream before is done first, and what was put in meanwhile is done when it ends. On the
// CPU it does nothing.
class TrainingStream {
 public:
  explicit TrainingStream(torch::Device device);
  ~TrainingStream();
  TrainingStream(const TrainingStream&) = delete;
  TrainingStream& operator=(const TrainingStream&) = delete;

  torch::Device device() const { return device_; }
  // Waits for all work on the device. FAILS WITH: what torch throws.
  void synchronize() const;

 private:
  struct Guard;
  const torch::Device device_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace ronde::train
