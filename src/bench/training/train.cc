// Training steps of whole networks: with the exchange of gradients, without it, and as peers do them. Every contestant
// is a job of its own, because where tensors come from is decided once a process.
#include <algorithm>
#include <map>
#include <memory>

#include "ronde/base/error.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/turns.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/training/train_bars.h"

namespace ronde::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUsualBatch = 32;
constexpr const char* kVariants[] = {"alone", "alone_arena", "ours", "ours_after"};

struct Case {
  std::string model;
  int batch;
};

// Those of the promises; another batch, or any network that settings may name, when the user asks for it.
std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const auto& one : detail::kTrainCases) {
    if (!options.model.empty() && options.model != one.model) continue;
    const Case wanted{std::string(one.model), options.batch > 0 ? options.batch : one.batch};
    const bool twice = std::ranges::any_of(
        cases, [&](const Case& seen) { return seen.model == wanted.model && seen.batch == wanted.batch; });
    if (!twice) cases.push_back(wanted);
  }
  if (!cases.empty()) return cases;
  if (options.compare)
    throw Error::bad_input("--compare: the other libraries train only mlp-wide, mlp-deep and resnet18-cifar, not {}",
                           options.model);
  return {{options.model, options.batch > 0 ? options.batch : kUsualBatch}};
}

detail::Entrant our_variant(const char* variant, std::span<const int> cpus, const Case& one, Options options) {
  options.model = one.model;
  detail::Entrant entrant = detail::our_entrant("train", cpus, options);
  entrant.name = variant;
  entrant.command.insert(entrant.command.end(), {"--batch", std::to_string(one.batch), "--variant", variant});
  return entrant;
}

// Microseconds a step of every contestant by name; nothing for one that is not there.
using Times = std::map<std::string, double>;

struct Race {
  std::vector<std::unique_ptr<detail::Contestant>> contestants;

  Times run(int turns) const {
    std::vector<detail::Heat> heats;
    for (const auto& contestant : contestants)
      heats.push_back({contestant->name(), "step", [&](const auto& command) { return contestant->ask(command); }});
    const auto medians = detail::take_turns(heats, {.what = "step"}, turns);
    Times times;
    for (std::size_t i = 0; i < heats.size(); ++i)
      if (medians[i]) times[heats[i].name] = medians[i]->us;
    return times;
  }

  Json ask(const std::string& name, const char* what) const {
    for (const auto& contestant : contestants)
      if (contestant->name() == name)
        if (const auto value = contestant->ask({.what = what})) return static_cast<std::uint64_t>(*value);
    return nullptr;
  }
};

Race start(const Case& one, std::span<const int> cpus, const Options& options) {
  Race race;
  for (const char* variant : kVariants) {
    race.contestants.push_back(std::make_unique<detail::Contestant>(our_variant(variant, cpus, one, options)));
    race.contestants.back()->wait_until_ready(detail::start_deadline());
  }
  if (!options.compare) return race;
  const auto entrants = detail::training_peer_entrants(cpus, options.python, one.model, one.batch);
  for (auto& peer : detail::start_peers(entrants, options.log)) race.contestants.push_back(std::move(peer));
  return race;
}

Json row_of(const Case& one, int ranks, const Race& race, const Times& times, bool compare) {
  const auto time = [&](const char* name) { return times.contains(name) ? Json(times.at(name)) : Json(nullptr); };
  const double ours = times.at("ours");
  Json row = {{"ranks", ranks},
              {"model", one.model},
              {"batch", one.batch},
              {"step_us", ours},
              {"after_us", time("ours_after")},
              {"alone_us", time("alone")},
              {"alone_arena_us", time("alone_arena")},
              {"efficiency", times.at("alone") / ours},
              {"efficiency_arena", times.at("alone_arena") / ours}};
  for (const char* peer : detail::kTrainingPeers) {
    if (!compare) break;
    const std::string name = peer;
    row[name + "_us"] = time(peer);
    row["ratio_" + name] = times.contains(name) ? Json(times.at(name) / ours) : Json(nullptr);
  }
  for (const char* peer : {"python", "ddp_ronde", "ddp_ronde_plain"})
    if (compare && times.contains("ddp") && times.contains(peer))
      row[std::string("ddp_over_") + peer] = times.at("ddp") / times.at(peer);
  row["fusion_bytes"] = race.ask("ours", "fusion_bytes");
  row["pss_ours_bytes"] = race.ask("ours", "pss");
  row["pss_alone_arena_bytes"] = race.ask("alone_arena", "pss");
  return row;
}

}  // namespace

Report run_train(const Options& options) {
  if (options.gpu) return run_train_gpu(options);
  Report report{.name = "train"};
  const int ranks = detail::one_number_of_ranks(options);
  const auto cpus = detail::cpus_for(ranks);
  for (const Case& one : cases_of(options)) {
    const Race race = start(one, cpus, options);
    report.rows.push_back(row_of(one, ranks, race, race.run(options.turns), options.compare));
  }
  report.bars = detail::train_bars(report.rows);
  return report;
}

}  // namespace ronde::bench
