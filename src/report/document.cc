#include "ronde/report/document.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/report/advice.h"
#include "ronde/report/communication/collectives.h"
#include "ronde/report/communication/scaling.h"
#include "ronde/report/compute/bottlenecks.h"
#include "ronde/report/compute/devices.h"
#include "ronde/report/compute/efficiency.h"
#include "ronde/report/compute/layer_roofline.h"
#include "ronde/report/input/input_limit.h"
#include "ronde/report/json/json_parts.h"
#include "ronde/report/rules/guide.h"
#include "ronde/report/run/bounded_run.h"
#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/machine_of_run.h"
#include "ronde/report/run/profile.h"
#include "ronde/report/run/recording.h"
#include "ronde/report/run/speed.h"
#include "ronde/report/steps/operators.h"
#include "ronde/report/steps/phases.h"
#include "ronde/report/steps/steps.h"
#include "ronde/report/steps/timeline.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;
using trace::Run;

// What every run gets, alone or among others.
struct Basics {
  Window window = {};
  JobFacts facts = {};
  Efficiency efficiency = {};
  Phases phases = {};
  Profile profile = {};
  std::vector<std::string> problems = {};
};

// Facts first: they may stand in the file of a rank that is then left out.
Basics basics_of(BoundedRun& read) {
  Run& run = read.run;
  Basics basics;
  if (!read.left_out.empty()) basics.problems.push_back(read.left_out);
  basics.problems.insert(basics.problems.end(), run.problems.begin(), run.problems.end());
  basics.facts = facts_of(run, basics.problems);
  if (basics.facts.failure && run.problems.empty()) run.problems.push_back(failure_text(basics.facts));
  basics.window = window_of(run, keep_whole_steps(run, read.steps, basics.problems));
  basics.efficiency = efficiency_of(run, basics.window);
  basics.phases = phases_of(run, basics.window);
  basics.profile = profile_of(run, basics.window);
  return basics;
}

double mean_clock(const JobFacts& facts) {
  double sum = 0;
  for (const auto& [rank, ghz] : facts.clock_ghz) sum += ghz;
  return facts.clock_ghz.empty() ? 0 : sum / static_cast<double>(facts.clock_ghz.size());
}

RunSummary summary_of(const Run& run, const Basics& basics) {
  const Window& window = basics.window;
  const double samples = static_cast<double>(basics.facts.batch) * static_cast<double>(window.steps);
  const auto& useful = basics.efficiency.useful_seconds;
  const double all = std::accumulate(useful.begin(), useful.end(), 0.0);
  return {.source = run.source.string(),
          .ranks = run.world_size,
          .batch = basics.facts.batch,
          .samples_per_second = samples_per_second(basics.facts, window, window.seconds()),
          .useful_seconds = samples > 0 ? all / samples : 0,
          .parallel = basics.efficiency.parallel,
          .phases = basics.phases.phases,
          .threads = basics.facts.threads,
          .memory_bytes = basics.facts.memory_bytes,
          .memory_limit_bytes = basics.facts.memory_limit_bytes,
          .clock_ghz = mean_clock(basics.facts),
          .precision = basics.facts.precision};
}

// Why there is less to say of several runs than one may expect.
void explain_runs(const std::vector<RunSummary>& runs, std::vector<std::string>& problems) {
  const bool same = std::ranges::all_of(runs, [&](const RunSummary& run) { return run.ranks == runs[0].ranks; });
  if (same && runs.size() > 2)
    problems.push_back(
        fmt::format("these {} runs have the same number of ranks: give two of them for a comparison, or runs with "
                    "different numbers of ranks for scaling",
                    runs.size()));
  for (const RunSummary& run : runs)
    if (!same && !(run.samples_per_second > 0))
      problems.push_back(
          fmt::format("'{}' has no batch size or no steps, and is left out of the comparison", run.source));
}

MeasuredAllreduce allreduce_for(const std::optional<MachineRates>& rates, const AnalysisOptions& options) {
  if (!options.allreduce_json.empty()) return parse_allreduce(options.allreduce_json, options.allreduce_file);
  return rates ? measured_allreduce(*rates) : MeasuredAllreduce{};
}

InputEvidence evidence_of(const InputLimit& input) {
  InputEvidence evidence{.limit = input.limit};
  for (const InputStage& stage : input.stages)
    if (stage.name == input.limit) {
      evidence.threads = stage.threads;
      evidence.item_bytes = stage.item_bytes;
    }
  return evidence;
}

std::vector<TimeRange> places_of(const std::vector<Advice>& advice, const Window& window) {
  std::vector<TimeRange> places;
  const auto ns = [&](double seconds) { return window.time.begin + static_cast<std::int64_t>(seconds * 1e9); };
  for (const Advice& one : advice)
    if (one.at) places.push_back({ns(one.at->begin), ns(one.at->end)});
  return places;
}

// Among others a run's tree begins above its own: with what a sample costs there and here. Alone, with what the machine
// allows, if no device computes.
Factor tree_of(const Efficiency& efficiency, const std::optional<Scaling>& scaling, const std::string& source) {
  if (!scaling)
    return efficiency.device ? efficiency.parallel : with_computation(efficiency.parallel, efficiency.computation);
  const auto found = std::ranges::find(scaling->runs, source, [](const ScaledRun& run) { return run.run.source; });
  return found == scaling->runs.end() ? efficiency.parallel : found->global;
}

Json efficiency_json(const Efficiency& efficiency, const Run& run, const std::optional<Scaling>& scaling) {
  Json json = to_json(efficiency, run);
  json["tree"] = to_json(tree_of(efficiency, scaling, run.source.string()));
  if (efficiency.device) json["device"] = to_json(with_computation(*efficiency.device, efficiency.computation));
  return json;
}

CommEvidence evidence_of(const Collectives& collectives) {
  if (!collectives.fit) return {};
  return {.latency_us = collectives.fit->latency_us, .bandwidth_gb_s = collectives.fit->bandwidth_gb_s};
}

// The run that is reported in full. Of others only `compared` and `scaling` come in.
Json full_document(const Run& run, Basics& basics, const AnalysisOptions& options,
                   const std::optional<Scaling>& scaling, const std::optional<Comparison>& compared) {
  const Window& window = basics.window;
  const JobFacts& facts = basics.facts;
  const StepTable steps = steps_of(run, window);
  const auto rates = machine_of_run(facts, {.said = options.rates, .measured_here = options.measured_here});
  const auto input = input_limit_of(run, window, facts, basics.efficiency.no_input_seconds, basics.problems);
  const MeasuredAllreduce measured = allreduce_for(rates, options);
  const Collectives collectives = collectives_of(run, window, measured);
  const MachineRates machine = rates.value_or(MachineRates{});
  const auto roofline = layer_roofline_of(run, window, facts, machine);
  if (roofline) basics.efficiency.computation = computation_of(*roofline);
  const InputEvidence input_evidence = input ? evidence_of(*input) : InputEvidence{};
  const CommEvidence comm = evidence_of(collectives);
  const Evidence evidence{.run = run,
                          .window = window,
                          .efficiency = basics.efficiency,
                          .steps = steps,
                          .phases = basics.phases,
                          .facts = facts,
                          .input = input ? &input_evidence : nullptr,
                          .comm = collectives.fit ? &comm : nullptr,
                          .rates = rates ? &*rates : nullptr,
                          .roofline = roofline ? &*roofline : nullptr};
  const std::vector<Advice> advice = advise(evidence);
  const Verdict verdict = verdict_of(evidence, advice);
  Json document = {{"ronde_report", 1},
                   {"source", run.source.string()},
                   {"verdict", verdict.text},
                   {"state", name(verdict.state)},
                   {"problems", basics.problems},
                   {"job", to_json(facts, run)},
                   {"window", to_json(window)},
                   {"efficiency", efficiency_json(basics.efficiency, run, scaling)},
                   {"devices", to_json(devices_of(run, window))},
                   {"steps", to_json(steps)},
                   {"phases", to_json(basics.phases.phases)},
                   {"sequential", to_json(basics.phases.sequential)},
                   {"profile", to_json(basics.profile)},
                   {"operators", to_json(operators_of(run, window))},
                   {"compare", compared ? to_json(*compared) : Json()},
                   {"input", input ? to_json(*input) : Json()},
                   {"collectives", to_json(collectives)},
                   {"bottlenecks", to_json(bottlenecks_of({.run = run,
                                                           .window = window,
                                                           .job = facts,
                                                           .machine = machine,
                                                           .steps = steps,
                                                           .input = input,
                                                           .collectives = collectives,
                                                           .measured = measured}))},
                   {"roofline", roofline ? to_json(*roofline) : Json()},
                   {"scaling", scaling ? to_json(*scaling) : Json()},
                   {"guide", to_json(guide_of(evidence, advice, scaling ? &*scaling : nullptr))},
                   {"advice", to_json(advice)}};
  if (options.timeline)
    document["timeline"] = timeline_json(run, window, steps, pieces_of(run, window, steps, places_of(advice, window)));
  return document;
}

}  // namespace

Json document_of(const std::vector<std::filesystem::path>& sources, const AnalysisOptions& options) {
  if (sources.empty()) throw Error::bad_input("no run was given to report on");
  std::optional<Run> main;
  Basics main_basics;
  std::vector<RunSummary> summaries;
  std::vector<Profile> profiles;
  const std::uint64_t memory = options.memory / std::min<std::size_t>(2, sources.size());
  for (const auto& source : sources) {
    BoundedRun read = read_bounded(source, {.steps = options.steps, .memory = memory, .threads = options.threads});
    Basics basics = basics_of(read);
    summaries.push_back(summary_of(read.run, basics));
    profiles.push_back(basics.profile);
    if (main && main->world_size > read.run.world_size) continue;
    main = std::move(read.run);
    main_basics = std::move(basics);
  }
  if (sources.size() > 1) explain_runs(summaries, main_basics.problems);
  std::optional<Comparison> compared;
  if (sources.size() == 2 && summaries[0].ranks == summaries[1].ranks) compared = compare(profiles[0], profiles[1]);
  const auto scaling = sources.size() > 1 ? scaling_of(summaries) : std::nullopt;
  return full_document(*main, main_basics, options, scaling, compared);
}

}  // namespace ronde::report
