#include "ronde/train/optimizers.h"

#include <functional>
#include <map>

namespace ronde::train {
namespace {

using namespace torch::optim;
using Parameters = std::vector<torch::Tensor>;

struct Knobs {
  double rate, momentum, decay;
  bool nesterov;
};

using Make = std::function<std::unique_ptr<Optimizer>(const Parameters&, const Knobs&)>;

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all{
      {"sgd",
       [](const Parameters& parameters, const Knobs& knobs) {
         return std::make_unique<SGD>(
             parameters,
             SGDOptions(knobs.rate).momentum(knobs.momentum).weight_decay(knobs.decay).nesterov(knobs.nesterov));
       }},
      {"adam",
       [](const Parameters& parameters, const Knobs& knobs) {
         return std::make_unique<Adam>(
             parameters, AdamOptions(knobs.rate).betas({knobs.momentum, 0.999}).weight_decay(knobs.decay));
       }},
      {"adamw",
       [](const Parameters& parameters, const Knobs& knobs) {
         return std::make_unique<AdamW>(
             parameters, AdamWOptions(knobs.rate).betas({knobs.momentum, 0.999}).weight_decay(knobs.decay));
       }},
      {"rmsprop",
       [](const Parameters& parameters, const Knobs& knobs) {
         return std::make_unique<RMSprop>(
             parameters, RMSpropOptions(knobs.rate).momentum(knobs.momentum).weight_decay(knobs.decay));
       }},
      {"adagrad", [](const Parameters& parameters, const Knobs& knobs) {
         return std::make_unique<Adagrad>(parameters, AdagradOptions(knobs.rate).weight_decay(knobs.decay));
       }}};
  return all;
}

}  // namespace

// The choices of optimizer.name are the keys of makers().
std::unique_ptr<Optimizer> make_optimizer(const Settings& settings, const Parameters& parameters) {
  return makers().at(settings.get<"optimizer.name">())(parameters, {.rate = settings.get<"optimizer.lr">(),
                                                                    .momentum = settings.get<"optimizer.momentum">(),
                                                                    .decay = settings.get<"optimizer.weight_decay">(),
                                                                    .nesterov = settings.get<"optimizer.nesterov">()});
}

void set_learning_rate(Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

}  // namespace ronde::train
