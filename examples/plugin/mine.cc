// A plugin: a network, a dataset, a loss, an optimizer and an augmentation for `ronde train` (mine.toml names them).
#include <cmath>

#include <ronde/train/plugin.h>

namespace {

namespace data = ronde::data;
using torch::Tensor;

// --- model.name = "rings"
struct Rings : ronde::models::Network {
  explicit Rings(const ronde::models::ModelOptions& options)
      : first(register_module("first", torch::nn::Linear(options.input.at(0), 64))),
        second(register_module("second", torch::nn::Linear(64, 64))),
        head(register_module("head", torch::nn::Linear(64, options.classes))) {}
  Tensor forward(Tensor x) override { return head(torch::sin(second(torch::sin(first(3 * x))))); }
  torch::nn::Linear first, second, head;
};
RONDE_REGISTER_MODEL("rings",
                     [](const ronde::models::ModelOptions& options) { return std::make_shared<Rings>(options); })

// --- data.name = "spirals"
data::Sample point(std::uint64_t seed, std::int64_t index) {
  data::Random random(seed, 0, static_cast<std::uint64_t>(index));
  const auto spiral = static_cast<std::int64_t>(random.below(2));
  const float radius = random.uniform(0.1F, 1),
              angle = 9 * radius + static_cast<float>(M_PI) * static_cast<float>(spiral);
  data::Array place(data::Type::F32, {2});
  place.values<float>()[0] = radius * std::cos(angle);
  place.values<float>()[1] = radius * std::sin(angle);
  data::Sample sample;
  sample.set("input", std::move(place));
  sample.set("target", data::Array::scalar(spiral));
  return sample;
}
RONDE_REGISTER_DATASET(
    "spirals",
    .samples =
        [](const ronde::Settings&, data::Split split) {
          const bool train = split == data::Split::Train;
          return data::function(train ? 2000 : 500, [train](std::int64_t i) { return point(train, i); });
        },
    .arrays = {.classes = 2})

// --- data.augment = "jitter"
RONDE_REGISTER_AUGMENTATION(
    "jitter", .apply = [](const data::SampleSpace& sample, const data::SampleKind&, data::Random& random) {
      for (float& value : sample.features) value += random.uniform(-0.01F, 0.01F);
    })

// --- train.loss = "hard"
RONDE_REGISTER_LOSS(
    "hard", .loss = [](const Tensor& output, const Tensor& target) {
      const Tensor each = torch::nn::functional::cross_entropy(
          output, target, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
      return (1 - (-each).exp()).square() * each;
    })

// --- optimizer.name = "lion"
struct LionState : torch::optim::OptimizerCloneableParamState<LionState> {
  TORCH_ARG(Tensor, momentum);
};
struct LionOptions : torch::optim::OptimizerCloneableOptions<LionOptions> {
  explicit LionOptions(double rate) : lr_(rate) {}
  double get_lr() const override { return lr_; }
  void set_lr(const double rate) override { lr_ = rate; }
  TORCH_ARG(double, lr);
};
class Lion : public torch::optim::Optimizer {
 public:
  Lion(const ronde::train::OptimizerGroups& groups, const LionOptions& options)
      : Optimizer(groups, std::make_unique<LionOptions>(options)) {}
  Tensor step(LossClosure = nullptr) override {
    const torch::NoGradGuard no_grad;
    for (auto& group : param_groups())
      for (Tensor& parameter : group.params())
        if (parameter.grad().defined()) move(parameter, group.options().get_lr());
    return {};
  }

 private:
  void move(Tensor& parameter, double rate) {
    auto& state = state_[parameter.unsafeGetTensorImpl()];
    if (!state) {
      state = std::make_unique<LionState>();
      static_cast<LionState&>(*state).momentum(torch::zeros_like(parameter));
    }
    Tensor momentum = static_cast<LionState&>(*state).momentum();
    parameter.sub_((0.9 * momentum + 0.1 * parameter.grad()).sign(), rate);
    momentum.mul_(0.99).add_(parameter.grad(), 0.01);
  }
};
RONDE_REGISTER_OPTIMIZER(
    "lion", .help = "The sign of a momentum (Chen et al.).",
    .make = [](const ronde::train::OptimizerGroups& groups, const ronde::train::OptimizerChoice&)
        -> std::unique_ptr<torch::optim::Optimizer> { return std::make_unique<Lion>(groups, LionOptions(0)); },
    .is = ronde::train::is_a<Lion>, .state = ronde::train::state_format<LionState>([](auto& state, const auto& see) {
                                      see("momentum", state.momentum(), ronde::train::Need::Always);
                                    }))

}  // namespace
