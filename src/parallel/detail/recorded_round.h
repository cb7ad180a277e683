#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include <torch/torch.h>

#include "ronde/device/stream.h"
#include "ronde/parallel/distributed_optimizer.h"

namespace ronde::parallel::detail {

// What there is to know of a gradient before it is there.
struct GradientFacts {
  std::size_t bytes = 0;
  torch::ScalarType type = torch::kFloat32;
};
// Which gradients travel together, by their places: in the order in which a backward pass makes them, which is the
// last first, as many of one type as make `most` bytes. The same on all ranks, whatever order their hooks come in.
// Pure.
std::vector<std::vector<std::size_t>> cut_into_buckets(const std::vector<GradientFacts>& gradients, std::size_t most);

// Rounds in which every parameter gets a gradient, exchanged bucket by bucket in an order that was fixed before: what
// can be recorded into a graph. A hook only marks where in the stream a bucket has become complete; all exchanges are
// put in by whoever calls reduce(), behind those marks. In a recorded step they run beside the rest of the backward
// pass, no matter when they were put in.
class RecordedRound {
 public:
  RecordedRound(NamedTensors parameters, ReduceBucket reduce);

  std::vector<std::vector<torch::Tensor>> parameters() const;  // by bucket

  void begin();  // nothing is there yet
  // The gradient of a parameter is; on the thread of the backward pass. FAILS WITH: BadInput for one that was not
  // there.
  void made(const torch::Tensor& parameter);
  // The current stream then waits for all of it. FAILS WITH: BadInput for a parameter that got none; as the reduction.
  void reduce();

 private:
  struct Bucket {
    std::vector<std::size_t> members;
    std::size_t missing = 0;
    std::optional<device::Event> made = {};
  };
  using Gradients = std::vector<torch::Tensor>;
  Gradients gradients_of(const Bucket& bucket) const;

  const NamedTensors parameters_;
  const ReduceBucket reduce_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const void*, std::size_t> bucket_of_;  // by parameter
};

}  // namespace ronde::parallel::detail
