// Training steps on one GPU: ours, the same without an engine, and torch's in Python, each a process of its own.
#include <functional>
#include <map>
#include <memory>

#include "ronde/base/error.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/training/gpu_bars.h"

namespace ronde::bench {
namespace {

using Json = nlohmann::ordered_json;
using Times = std::map<std::string, std::vector<double>>;

constexpr const char* kVariants[] = {"gpu_alone", "gpu", "gpu_eager"};
constexpr double kTurnUs = 1e6;  // about as long as a turn takes
constexpr int kWarmUp = 2;       // steps before it is timed

std::unique_ptr<detail::Contestant> start_ours(const char* variant, const std::string& model, int batch,
                                               const Options& options) {
  Options mine = options;
  mine.model = model;
  detail::Entrant entrant = detail::our_entrant("train", detail::cpus_for(1), mine);
  entrant.name = variant;
  entrant.command.insert(entrant.command.end(), {"--batch", std::to_string(batch), "--variant", variant});
  auto contestant = std::make_unique<detail::Contestant>(entrant);
  contestant->wait_until_ready(detail::start_deadline());
  return contestant;
}

struct Race {
  std::vector<std::unique_ptr<detail::Contestant>> contestants;
  Times times;
  std::map<std::string, int> rounds;

  void ask(detail::Contestant& one, const std::string& what, int steps, const std::string& name) {
    if (const auto time = one.ask({.what = what, .warm_up = kWarmUp, .batches = 1, .rounds = steps}))
      times[name].push_back(*time);
  }

  // A few steps tell how many make a turn.
  void run(int turns) {
    for (auto& one : contestants) {
      const auto time = one->ask({.what = "step", .warm_up = 3, .batches = 1, .rounds = 5});
      rounds[one->name()] = time ? std::max(5, static_cast<int>(kTurnUs / *time)) : 0;
    }
    for (int turn = 0; turn < turns; ++turn)
      for (auto& one : contestants)
        if (rounds[one->name()] > 0) ask(*one, "step", rounds[one->name()], one->name());
    for (auto& one : contestants) ask(*one, "first", 1, one->name() + "_first");
  }

  // The others make room for a training with a trace: first with every kernel, in as many steps as that does, and then
  // without.
  void trace(int turns, const std::function<std::unique_ptr<detail::Contestant>()>& start) {
    std::erase_if(contestants, [](const auto& one) { return one->name() != "gpu"; });
    const auto traced = start();
    detail::Contestant& plain = *contestants.front();
    const int steps = rounds["gpu"], some = std::min(steps, std::max(1, detail::kKernelSteps / turns - kWarmUp));
    for (int turn = 0; turn < turns; ++turn) ask(*traced, "recorded", some, "gpu_recorded");
    traced->ask({.what = "recorded", .warm_up = detail::kKernelSteps, .batches = 1, .rounds = 1});
    for (int turn = 0; turn < turns; ++turn) {
      ask(plain, "step", steps, "gpu");
      ask(*traced, "recorded", steps, "gpu_traced");
    }
  }
};

Race start(const std::string& model, int batch, const Options& options) {
  Race race;
  for (const char* variant : kVariants) race.contestants.push_back(start_ours(variant, model, batch, options));
  if (!options.compare) return race;
  for (auto& peer : detail::start_peers(detail::gpu_peer_entrants(options.python, model, batch), options.log))
    race.contestants.push_back(std::move(peer));
  return race;
}

Json row_of(const std::string& model, int batch, Times times, bool compare) {
  const auto time = [&](const std::string& name) {
    return times.contains(name) ? Json(detail::median(times.at(name))) : Json(nullptr);
  };
  const double ours = time("gpu").get<double>();
  Json row = {{"model", model},
              {"batch", batch},
              {"step_us", ours},
              {"images_per_s", batch * 1e6 / ours},
              {"alone_us", time("gpu_alone")},
              {"eager_us", time("gpu_eager")},
              {"recorded_us", time("gpu_recorded")},
              {"traced_us", time("gpu_traced")},
              {"first_step_us", time("gpu_first")}};
  for (const char* peer : detail::kGpuPeers) {
    if (!compare) break;
    row[std::string(peer) + "_us"] = time(peer);
    row[std::string("ratio_") + peer] =
        times.contains(peer) ? Json(detail::median(times.at(peer)) / ours) : Json(nullptr);
  }
  return row;
}

}  // namespace

Report run_train_gpu(const Options& options) {
  if (detail::one_number_of_ranks(options, 1) != 1) throw Error::bad_input("-n: on a GPU this benchmark runs one rank");
  Report report{.name = "train"};
  const std::string model = options.model.empty() ? "resnet50" : options.model;
  for (const int batch : options.batch > 0 ? std::vector{options.batch} : std::vector{256, 32}) {
    Race race = start(model, batch, options);
    race.run(options.turns);
    race.trace(options.turns, [&] { return start_ours("gpu_traced", model, batch, options); });
    report.rows.push_back(row_of(model, batch, race.times, options.compare));
  }
  report.bars = detail::gpu_bars(report.rows);
  return report;
}

}  // namespace ronde::bench
