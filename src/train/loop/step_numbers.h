#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <torch/torch.h>

#include "ronde/device/stream.h"
#include "ronde/train/meter.h"

namespace ronde::train {

// What the device has computed in a step and the host wants to know: the score, squared norms of gradients (where they
// are measured), and whether gradients have overflowed (f16).
inline constexpr std::int64_t kStepValues = kScoreValues + 3;
using StepValues = std::array<double, kStepValues>;

// And what the host knows of that step itself.
struct StepFacts {
  std::int64_t step = 0, samples = 0;
  double learning_rate = 0, comm_wait = 0;
  double noise_samples = 0, noise_weight = 0;  // of what is measured; 0: nothing is
};

// Numbers of steps on their way from the device to the host, which reads them when it has handed over the next step:
// so the device always has something to do.
class StepNumbers {
 public:
  explicit StepNumbers(torch::Device device);

  // `values`: f64 [kStepValues], of the work so far in the current stream. They may be overwritten by later work in it.
  void send(const StepFacts& facts, const torch::Tensor& values);

  struct Read {
    StepFacts facts;
    StepValues values;
  };
  // Those of the oldest step, for which it waits; nothing, when at most `most_left` steps are on their way.
  std::optional<Read> read(std::size_t most_left);

 private:
  struct Slot {
    torch::Tensor host;
    device::Event arrived;
    StepFacts facts;
  };
  Slot free_slot(const device::Stream& stream);

  const torch::Device device_;
  std::deque<Slot> on_their_way_;
  std::vector<Slot> free_;
};

}  // namespace ronde::train
