#include "ronde/train/input/mixup.h"

#include "ronde/base/error.h"
#include "ronde/data/augment/mixup.h"

namespace ronde::train {

double mixup_of(const TrainingOptions& options, data::Target target, std::int64_t batch, int ranks) {
  const double alpha = options.data.mixup;
  if (alpha == 0) return 0;
  if (target != data::Target::Class)
    throw Error::bad_input("data.mixup needs data.target = class, got {}", data::name(target));
  const std::int64_t parts = std::int64_t{ranks} * options.accumulate;
  if (batch % (2 * parts) != 0)
    throw Error::bad_input(
        "data.mixup mixes pairs of samples: train.batch must be a multiple of {} (2 x ranks x train.accumulate), got "
        "{}",
        2 * parts, batch);
  return alpha;
}

Samples mixed(const Samples& samples, double alpha, std::uint64_t seed, std::int64_t epoch, std::int64_t place,
              std::int64_t classes) {
  const std::int64_t count = samples.targets.size(0);
  torch::Tensor share = torch::empty({count}), other = torch::empty({count}, torch::kInt64);
  for (std::int64_t i = 0; i < count; ++i) {
    share[i] = data::mixup_share(seed, epoch, (place + i) / 2, alpha);
    other[i] = i ^ 1;
  }
  share = share.to(samples.inputs.device());
  other = other.to(samples.inputs.device());
  const auto mix = [&](const torch::Tensor& values) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(values.dim()), 1);
    shape[0] = count;
    const torch::Tensor mine = share.view(shape);
    return values * mine + values.index_select(0, other) * (1 - mine);
  };
  return {mix(samples.inputs), mix(torch::one_hot(samples.targets, classes).to(torch::kFloat32))};
}

}  // namespace ronde::train
