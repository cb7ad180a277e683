#include "ronde/parallel/sync_batch_norm.h"

#include <vector>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<std::int64_t> all_but_channels(const Tensor& input) {
  std::vector<std::int64_t> dimensions{0};
  for (std::int64_t i = 2; i < input.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

// A value a channel, in the shape in which it goes with the input.
Tensor along_channels(const Tensor& values, const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = input.size(1);
  return values.to(input.dtype()).view(shape);
}

// Sums over many values do not fit into bf16 or f16.
Tensor exact(const Tensor& tensor) {
  const bool is_exact = tensor.scalar_type() == torch::kFloat32 || tensor.scalar_type() == torch::kFloat64;
  return is_exact ? tensor : tensor.to(torch::kFloat32);
}

struct Moments {
  Tensor mean = {}, variance = {};  // f64; of the values of all ranks
  double count = 0;
};

// Each rank's count, means and squared deviations are gathered and combined: sums of squares would lose what little
// variance lies around a large mean.
Moments moments_of_all(const Tensor& input, const comm::Group& group) {
  const std::int64_t channels = input.size(1);
  const std::int64_t count = input.numel() / channels;
  const auto f64 = input.options().dtype(torch::kFloat64);
  Tensor mine = torch::zeros({1, 1 + 2 * channels}, f64);
  if (count > 0) {
    const auto [variance, mean] = torch::var_mean(exact(input), all_but_channels(input), /*unbiased=*/false);
    mine[0][0] = static_cast<double>(count);
    mine[0].slice(0, 1, 1 + channels).copy_(mean);
    mine[0].slice(0, 1 + channels).copy_(variance.to(torch::kFloat64) * static_cast<double>(count));
  }
  Tensor all = torch::empty({group.size(), 1 + 2 * channels}, f64);
  comm::Request request;
  request.operation = comm::Operation::Allgather;
  request.input = buffer_of(mine);
  request.output = buffer_of(all);
  request.stream = stream_of(mine);
  group.run(std::move(request));
  const Tensor counts = all.slice(1, 0, 1), means = all.slice(1, 1, 1 + channels),
               deviations = all.slice(1, 1 + channels);
  Moments moments{.count = counts.sum().item<double>()};
  moments.mean = (counts * means).sum(0) / moments.count;
  moments.variance = (deviations + counts * (means - moments.mean).square()).sum(0) / moments.count;
  return moments;
}

// Contexts hold torch's own types only.
struct HeldGroup : torch::CustomClassHolder {
  explicit HeldGroup(comm::Group held) : group(std::move(held)) {}
  comm::Group group;
};

class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Moments& moments, double eps, const comm::Group& group) {
    context->save_for_backward({input, weight, moments.mean, (moments.variance + eps).rsqrt()});
    context->saved_data["count"] = moments.count;
    context->saved_data["group"] = c10::IValue::make_capsule(c10::make_intrusive<HeldGroup>(group));
    const Tensor mean = moments.mean.to(weight.dtype()), variance = moments.variance.to(weight.dtype());
    return torch::batch_norm(input, weight, bias, mean, variance, /*training=*/false, 0.0, eps, false);
  }

  // The gradients of weight and bias are this rank's, as those of every other layer are; the input's knows that the
  // moments, and through them the outputs of all ranks, depend on it.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor input = exact(saved[0]), &weight = saved[1];
    const auto held = context->saved_data["group"].toCapsule();
    const comm::Group& group = static_cast<const HeldGroup&>(*held).group;
    const auto dimensions = all_but_channels(input);
    const Tensor scale = along_channels(saved[3], input);
    const Tensor normal = (input - along_channels(saved[2], input)) * scale;
    const Tensor gradient = exact(gradients[0]);
    const Tensor by_bias = gradient.sum(dimensions), by_weight = (gradient * normal).sum(dimensions);
    Tensor sums = torch::stack({by_bias, by_weight}).to(torch::kFloat64);
    comm::Request request;
    request.input = buffer_of(sums);
    request.stream = stream_of(sums);
    group.run(std::move(request));
    sums /= context->saved_data["count"].toDouble();
    const Tensor by_input = along_channels(weight, input) * scale *
                            (gradient - along_channels(sums[0], input) - normal * along_channels(sums[1], input));
    return {by_input.to(saved[0].dtype()),
            by_weight.to(weight.dtype()),
            by_bias.to(weight.dtype()),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(std::int64_t channels, comm::Group group, SyncBatchNormOptions options)
    : group_(std::move(group)), options_(options) {
  weight = register_parameter("weight", torch::ones({channels}));
  bias = register_parameter("bias", torch::zeros({channels}));
  running_mean = register_buffer("running_mean", torch::zeros({channels}));
  running_var = register_buffer("running_var", torch::ones({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
}

torch::Tensor SyncBatchNormImpl::forward(const torch::Tensor& input) {
  if (!is_training())
    return torch::batch_norm(input, weight, bias, running_mean, running_var, false, 0.0, options_.eps, false);
  Moments moments;
  {
    torch::NoGradGuard no_grad;
    moments = moments_of_all(input.detach(), group_);
    if (moments.count < 2)
      throw Error::bad_input("a batch norm over all ranks needs at least 2 values per channel, got {}", moments.count);
    const double unbiased = moments.count / (moments.count - 1);
    running_mean.lerp_(moments.mean.to(running_mean.dtype()), options_.momentum);
    running_var.lerp_((moments.variance * unbiased).to(running_var.dtype()), options_.momentum);
    num_batches_tracked += 1;
  }
  return Normalise::apply(input, weight, bias, moments, options_.eps, group_);
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "SyncBatchNorm(" << weight.size(0) << " channels, " << group_.size() << " ranks)";
}

}  // namespace ronde::parallel
