#include "ronde/report/compute/layer_roofline.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/run/speed.h"
#include "ronde/report/steps/layer_times.h"

namespace ronde::report {
namespace {

// The backward pass makes two products for each of the forward pass, and touches what those read and write.
constexpr double kBackward = 2;
// Of a roof; who reaches more shows that it was measured while the machine was busy.
constexpr double kDoubted = 1.05;

double passes_of(const LayerTime& time) {
  return time.forwards + kBackward * time.backwards;
}

// What one module does may be several steps of the network; its name is that of the one with most to do.
std::vector<LayerFacts> by_module(const JobFacts& facts) {
  std::vector<LayerFacts> modules;
  std::map<std::string, std::pair<std::size_t, double>> places;  // and the most that one of its steps does
  for (const LayerFacts& layer : facts.layers) {
    const auto [found, fresh] = places.try_emplace(layer.name, modules.size(), layer.flops);
    if (fresh) {
      modules.push_back(layer);
      continue;
    }
    LayerFacts& module = modules[found->second.first];
    module.flops += layer.flops;
    module.bytes += layer.bytes;
    if (layer.flops > found->second.second) module.operation = layer.operation, found->second.second = layer.flops;
  }
  return modules;
}

class Points {
 public:
  Points(const JobFacts& facts, const RankRates& rates, double seconds)
      : width_(width_of(facts.precision)), rates_(rates), seconds_(seconds) {}

  void add(const LayerFacts& layer, const LayerTime& time) {
    if (!(layer.flops > 0) || !(time.seconds > 0) || !(passes_of(time) > 0)) return;
    LayerPoint point{.name = layer.name,
                     .operation = layer.operation,
                     .flops = layer.flops * passes_of(time),
                     .bytes = layer.bytes * width_ * passes_of(time),
                     .seconds = time.seconds,
                     .share = seconds_ > 0 ? std::min(1.0, time.seconds / seconds_) : 0};
    if (rates_.flops > 0 && rates_.bytes > 0 && point.bytes > 0)
      point.bound = point.intensity() * rates_.bytes < rates_.flops ? "memory" : "compute";
    points_.push_back(std::move(point));
  }
  std::vector<LayerPoint> take() { return std::move(points_); }

 private:
  const double width_;
  const RankRates& rates_;
  const double seconds_;
  std::vector<LayerPoint> points_;
};

LayerFacts whole_network(const JobFacts& facts) {
  LayerFacts all{.name = facts.network.empty() ? "network" : facts.network, .operation = "forward and backward"};
  for (const LayerFacts& layer : facts.layers) all.flops += layer.flops, all.bytes += layer.bytes;
  return all;
}

std::string text_of(const LayerRoofline& roofline, const std::string& why_whole) {
  const auto heaviest = std::ranges::max_element(roofline.layers, {}, &LayerPoint::seconds);
  const double roof = roofline.roof(heaviest->intensity());
  std::string text = fmt::format("'{}' ", heaviest->name);
  if (why_whole.empty())
    text += fmt::format("takes most, {} of forward and backward, and ", percent_text(heaviest->share));
  text += fmt::format("reaches {} per rank", amount_text(heaviest->flops_per_second() / 1e9, "GFLOP/s"));
  if (roof > 0 && heaviest->flops_per_second() > kDoubted * roof)
    text += fmt::format(", more than {} was measured to allow: the machine was busy then",
                        heaviest->bound == "memory" ? "memory bandwidth" : "compute");
  else if (roof > 0)
    text += fmt::format(", {} of what {} allows it", percent_text(heaviest->flops_per_second() / roof),
                        heaviest->bound == "memory" ? "memory bandwidth" : "compute");
  else
    text += "; run 'ronde bench roofline' on such a node to measure what it can do";
  return text + "." + why_whole;
}

}  // namespace

RankRates rank_rates(const trace::Run& run, const JobFacts& facts, const MachineRates& machine) {
  const double sharers = machine.kind == Hardware::Kind::Gpu ? 1.0 : ranks_a_node(run, facts);
  const ProductRate product = product_rate(machine, facts.precision, !is_off(facts, "device.tf32"));
  return {.name = machine.name,
          .arithmetic = std::string(product.name),
          .flops = product.tflops * 1e12 / sharers,
          .bytes = machine.memory_gb_s * 1e9 / sharers};
}

double LayerRoofline::roof(double intensity) const {
  if (!(rates.flops > 0) || !(rates.bytes > 0) || !(intensity > 0)) return 0;
  return std::min(rates.flops, intensity * rates.bytes);
}

std::optional<LayerRoofline> layer_roofline_of(const trace::Run& run, const Window& window, const JobFacts& facts,
                                               const MachineRates& machine) {
  if (facts.layers.empty()) return {};
  const LayerTimes times = layer_times_of(run, window);
  const bool device = times.device_seconds > 0 || !(facts.device.empty() || facts.device.starts_with("cpu"));
  LayerRoofline roofline{.rates = rank_rates(run, facts, machine)};
  Points points(facts, roofline.rates, times.network.seconds);
  if (!device)
    for (const LayerFacts& layer : by_module(facts))
      if (const auto time = times.modules.find(layer.name); time != times.modules.end())
        points.add(layer, time->second);
  roofline.layers = points.take();
  roofline.by_layer = !roofline.layers.empty();
  std::string why_whole;
  if (roofline.layers.empty()) {
    LayerTime whole = times.network;
    // Without rows of the device, all that is known is that it was done when the steps were.
    if (device) whole.seconds = times.device_seconds > 0 ? times.device_seconds : times.step_seconds;
    roofline.whole_steps = device && !(times.device_seconds > 0);
    points.add(whole_network(facts), whole);
    roofline.layers = points.take();
    const bool ours = !setting(facts, "program");  // a program of the user's has no settings of ours
    why_whole = device
                    ? " Its layers are not shown separately: a device runs them later than the program launches them."
                : ours ? " Set trace.modules=true to record its layers separately."
                       : " Its layers were not recorded.";
  }
  if (roofline.layers.empty()) return {};
  roofline.text = text_of(roofline, why_whole);
  return roofline;
}

std::optional<Factor> computation_of(const LayerRoofline& roofline) {
  if (roofline.whole_steps) return {};
  double attainable = 0, taken = 0;
  for (const LayerPoint& layer : roofline.layers) {
    const double roof = roofline.roof(layer.intensity());
    if (!(roof > 0)) continue;
    attainable += layer.flops / roof;
    taken += layer.seconds;
  }
  if (!(taken > 0) || attainable > kDoubted * taken) return {};
  return Factor{.key = "computation",
                .name = "computation",
                .value = std::min(1.0, attainable / taken),
                .meaning = "Below 1, layers compute slower than the machine allows for what they do with each byte."};
}

}  // namespace ronde::report
