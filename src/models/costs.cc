#include "ronde/models/costs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/models/detail/layer_names.h"
#include "ronde/models/detail/op_flops.h"
#include "ronde/models/detail/op_watch.h"

namespace ronde::models {
namespace {

using detail::Operation;

// Puts a network in evaluation mode for a while.
class Evaluating {
 public:
  explicit Evaluating(Network& network) : network_(network), training_(network.is_training()) { network.eval(); }
  ~Evaluating() { network_.train(training_); }

 private:
  Network& network_;
  const bool training_;
};

// Turns the operations of a forward pass of one sample into costs of a batch.
class Meter {
 public:
  Meter(const Network& network, std::int64_t batch) : names_(network), batch_(batch) {}

  void see(const Operation& operation) {
    const bool in_place = operation.name.ends_with('_');
    const bool shares = std::ranges::any_of(
        operation.inputs, [&](const torch::Tensor& input) { return input.is_alias_of(operation.output); });
    if (shares && !in_place) return;  // a view
    if (operation.name == "zeros" || operation.name.starts_with("empty")) return;
    LayerCost cost{.operation = std::string(operation.name), .output = operation.output.sizes().vec()};
    if (!cost.output.empty()) cost.output.erase(cost.output.begin());
    for (const torch::Tensor& input : operation.inputs) add_input(input, cost);
    auto [layer, has_weights] = names_.next(operation.name, operation.inputs);
    cost.name = std::move(layer);
    if (has_weights && (cost.operation == "addmm" || cost.operation == "matmul"))
      cost.operation = "linear";  // what it is made of
    const auto written = static_cast<std::int64_t>(operation.output.nbytes()) * batch_;
    cost.bytes += written;
    cost.activation_bytes = in_place ? 0 : written;
    cost.flops = detail::op_flops(operation.name, operation.inputs, operation.output) * batch_;
    costs_.push_back(std::move(cost));
  }

  std::vector<LayerCost> take() { return std::move(costs_); }

 private:
  // Weights are read once a batch, everything else once a sample.
  void add_input(const torch::Tensor& input, LayerCost& cost) {
    const auto bytes = static_cast<std::int64_t>(input.nbytes());
    const auto* known = names_.find(input);
    cost.bytes += known ? bytes : bytes * batch_;
    if (known && known->is_parameter && counted_.insert(known->name).second) cost.parameters += input.numel();
  }

  detail::LayerNames names_;
  const std::int64_t batch_;
  std::set<std::string> counted_;
  std::vector<LayerCost> costs_;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
  return join(extents, " x ");
}

}  // namespace

std::vector<LayerCost> costs(Network& network, torch::IntArrayRef sample, std::int64_t batch) {
  const Evaluating evaluating(network);
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> shape = {1};
  shape.insert(shape.end(), sample.begin(), sample.end());
  const auto parameters = network.parameters();
  const auto options = parameters.empty() ? torch::TensorOptions()
                                          : torch::TensorOptions(parameters[0].device()).dtype(parameters[0].dtype());
  const torch::Tensor input = torch::zeros(shape, options);
  Meter meter(network, batch);
  {
    const detail::OpWatch watch([&](const Operation& operation) { meter.see(operation); });
    network.forward(input);
  }
  return meter.take();
}

LayerCost total(std::span<const LayerCost> costs) {
  LayerCost sum{.name = "total"};
  for (const LayerCost& cost : costs) {
    sum.parameters += cost.parameters;
    sum.flops += cost.flops;
    sum.bytes += cost.bytes;
    sum.activation_bytes += cost.activation_bytes;
  }
  return sum;
}

std::string cost_table(std::span<const LayerCost> costs) {
  Table table({{"layer"},
               {"operation"},
               {"output"},
               {"parameters", Align::Right},
               {"MFLOP", Align::Right},
               {"touched", Align::Right},
               {"activations", Align::Right}});
  const auto add = [&](const LayerCost& cost) {
    table.add({cost.name, cost.operation, shape_text(cost.output), std::to_string(cost.parameters),
               fmt::format("{:.2f}", static_cast<double>(cost.flops) / 1e6),
               format_bytes(static_cast<std::uint64_t>(cost.bytes)),
               format_bytes(static_cast<std::uint64_t>(cost.activation_bytes))});
  };
  std::ranges::for_each(costs, add);
  add(total(costs));
  return table.text();
}

std::int64_t count_parameters(const torch::nn::Module& network) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : network.parameters()) count += parameter.numel();
  return count;
}

}  // namespace ronde::models
