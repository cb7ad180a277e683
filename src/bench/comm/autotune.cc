// A training step as the defaults have it, against what autotune has made of it.
#include <filesystem>
#include <fstream>

#include "ronde/base/error.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/turns.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/detail/scratch_folder.h"
#include "ronde/bench/training/models.h"

namespace ronde::bench {
namespace {

using detail::Contestant;
using Json = nlohmann::ordered_json;

// Trains until the search has kept its result; returns that, and how many steps it took.
std::pair<Json, int> wait_for_result(Contestant& tuned, const std::filesystem::path& file) {
  constexpr int kBatch = 50, kMostSteps = 10'000;
  for (int steps = kBatch; steps <= kMostSteps; steps += kBatch) {
    if (!tuned.ask({.what = "step", .rounds = kBatch})) break;
    if (std::filesystem::exists(file)) return {Json::parse(std::ifstream(file)).at("records").at(0), steps};
  }
  throw Error(Error::Kind::Timeout, fmt::format("autotune did not finish within {} steps", kMostSteps));
}

void add_row(Report& report, const std::string& model, Options options) {
  const auto parameters = detail::parameters_of(model);
  const int ranks = detail::one_number_of_ranks(options);
  const auto cpus = detail::cpus_for(ranks);
  options.model = model;
  Contestant defaults(detail::our_entrant("step", cpus, options));
  const detail::ScratchFolder folder;
  const auto file = folder.path() / "tuning.json";
  options.settings.insert(options.settings.end(), {"--comm-autotune", "true", "--comm-autotune-file", file.string()});
  Contestant tuned(detail::our_entrant("step", cpus, options));
  for (Contestant* one : {&defaults, &tuned}) one->wait_until_ready(detail::start_deadline());
  const auto [found, steps] = wait_for_result(tuned, file);
  const auto medians =
      detail::take_turns({{"defaults", "step", [&](const auto& command) { return defaults.ask(command); }},
                          {"tuned", "step", [&](const auto& command) { return tuned.ask(command); }}},
                         {.bytes = found.at("step_bytes")}, options.turns);
  const double before = medians[0].value().us, after = medians[1].value().us;
  // As the search itself saw it, in one job and in turns; 1: the defaults stayed.
  const double raced = found.at("default_us").get<double>() / found.at("chosen_us").get<double>();
  report.rows.push_back({{"ranks", ranks},
                         {"model", model},
                         {"compute_us", options.compute_us},
                         {"search_steps", steps},
                         {"fusion_bytes", found.at("fusion_bytes")},
                         {"first_bucket_bytes", found.at("first_bucket_bytes")},
                         {"algorithm", found.at("algorithm")},
                         {"default_us", before},
                         {"tuned_us", after},
                         {"ratio_defaults", before / after},
                         {"raced_ratio", raced}});
  // Two jobs that do the same tell nothing but how much jobs differ.
  if (raced == 1) return;
  report.bars.push_back({fmt::format("{}_tuned_over_defaults", model),
                         fmt::format("{}: step time after autotune / with the defaults", model), after / before, 1.02,
                         false});
}

}  // namespace

Report run_step_autotuned(const Options& options) {
  Report report{.name = "step"};
  const auto models = options.model.empty() ? detail::model_names() : std::vector{options.model};
  for (const std::string& model : models) add_row(report, model, options);
  return report;
}

}  // namespace ronde::bench
