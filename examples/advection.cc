// A regression of physics: a network learns the flux of a one-dimensional advection scheme. Samples are generated:
// cell averages of a smooth periodic profile, and what flows through the cells' faces in one time step, which is known
// exactly. Everything else is Ronde's:
//
//   ronde run -n 4 ./advection --train-precision bf16 --trace-dir trace
//   ./advection eval ronde-output/advection
#include <cmath>
#include <numbers>

#include <ronde/train/task.h>

namespace {

namespace data = ronde::data;
using torch::Tensor;

constexpr int kCells = 64, kModes = 6;
constexpr double kCourant = 0.4;  // cells that the flow crosses in a time step

// The mean of sin over an interval, as a share of its value in the middle.
double mean_of_sine(double half_width) {
  return half_width == 0 ? 1 : std::sin(half_width) / half_width;
}

// Profile number `index`: a few waves of random height and phase, of which the short ones are low.
data::Sample profile(std::uint64_t seed, std::int64_t index) {
  data::Random random(seed, 0, static_cast<std::uint64_t>(index));
  data::Array cells(data::Type::F32, {kCells}), flux(data::Type::F32, {kCells});
  std::ranges::fill(cells.values<float>(), 0.0F);
  std::ranges::fill(flux.values<float>(), 0.0F);
  for (int mode = 1; mode <= kModes; ++mode) {
    const double height = random.uniform(-1, 1) / mode, phase = random.uniform(0, 2 * std::numbers::pi_v<float>);
    const double cell = 2 * std::numbers::pi * mode / kCells;  // the width of one, in radians
    for (int i = 0; i < kCells; ++i) {
      const double middle = cell * i + phase, face = middle + cell / 2;
      const double average = height * std::sin(middle) * mean_of_sine(cell / 2);
      // What passes a face in a step is what lay in front of it.
      const double passed = height * std::sin(face - kCourant * cell / 2) * mean_of_sine(kCourant * cell / 2);
      cells.values<float>()[static_cast<std::size_t>(i)] += static_cast<float>(average);
      flux.values<float>()[static_cast<std::size_t>(i)] += static_cast<float>(passed);
    }
  }
  data::Sample sample;
  sample.set("cells", std::move(cells));
  sample.set("flux", std::move(flux));
  return sample;
}

data::Dataset profiles(const ronde::Settings& settings, data::Split split) {
  const bool train = split == data::Split::Train;
  const auto seed = static_cast<std::uint64_t>(settings.get<"train.seed">()) * 2 + (train ? 0 : 1);
  return data::function(train ? 4096 : 512, [seed](std::int64_t index) { return profile(seed, index); }, "profiles");
}

// A correction of the upwind flux, which is the value of the cell before the face.
struct FluxNet : ronde::models::Network {
  FluxNet() {
    register_module("first", first);
    register_module("last", last);
  }
  Tensor forward(Tensor cells) override {
    const Tensor upwind = cells.unsqueeze(1);
    return (upwind + last(first(upwind).tanh())).squeeze(1);
  }
  static torch::nn::Conv1dOptions layer(std::int64_t in, std::int64_t out) {
    return torch::nn::Conv1dOptions(in, out, 5).padding(2).padding_mode(torch::kCircular);
  }
  torch::nn::Conv1d first{layer(1, 16)}, last{layer(16, 1)};
};

Tensor squared_error(const Tensor& output, const Tensor& target) {
  return (output - target).square().mean(1);
}

}  // namespace

int main(int count, char** words) {
  return ronde::train::run_task(
      {.name = "advection",
       .network = [](const ronde::models::ModelOptions&) { return std::make_shared<FluxNet>(); },
       .samples = profiles,
       .arrays = {.input = "cells", .target = "flux"},
       .loss = squared_error,
       .measures = {{.key = "rmse", .each = squared_error, .finish = [](double mean) { return std::sqrt(mean); }}},
       .settings = {{"optimizer.name", "adam"}, {"optimizer.lr", "0.003"}, {"train.epochs", "5"}}},
      count, words);
}
