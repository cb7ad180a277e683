#include "ronde/report/analysis.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/report/report.h"
#include "ronde/report/run/bounded_run.h"
#include "ronde/report/run/machine_of_run.h"
#include "ronde/report/run/recording.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

using trace::Run;

// The parts that every run gets, alone or among others.
// Facts first: they may stand in the file of a rank that is then left out.
Report begun_report(BoundedRun& read) {
  Run& run = read.run;
  Report report{.source = run.source.string(), .ranks = run.world_size};
  if (!read.left_out.empty()) report.problems.push_back(read.left_out);
  report.problems.insert(report.problems.end(), run.problems.begin(), run.problems.end());
  report.job = facts_of(run, report.problems);
  if (report.job.failure && run.problems.empty()) run.problems.push_back(failure_text(report.job));
  report.window = window_of(run, keep_whole_steps(run, read.steps, report.problems));
  report.efficiency = efficiency_of(run, report.window);
  report.phases = phases_of(run, report.window);
  report.profile = profile_of(run, report.window);
  return report;
}

double mean_clock(const JobFacts& facts) {
  double sum = 0;
  for (const auto& [rank, ghz] : facts.clock_ghz) sum += ghz;
  return facts.clock_ghz.empty() ? 0 : sum / static_cast<double>(facts.clock_ghz.size());
}

RunSummary summary_of(const Report& report) {
  const double samples = static_cast<double>(report.job.batch) * static_cast<double>(report.window.steps);
  const auto& useful = report.efficiency.useful_seconds;
  const double all = std::accumulate(useful.begin(), useful.end(), 0.0);
  return {.source = report.source,
          .ranks = report.ranks,
          .batch = report.job.batch,
          .samples_per_second = samples_per_second(report.job, report.window, report.window.seconds()),
          .useful_seconds = samples > 0 ? all / samples : 0,
          .parallel = report.efficiency.parallel,
          .phases = report.phases.phases,
          .threads = report.job.threads,
          .memory_bytes = report.job.memory_bytes,
          .memory_limit_bytes = report.job.memory_limit_bytes,
          .clock_ghz = mean_clock(report.job),
          .precision = report.job.precision};
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

// What only the run that is reported in full gets. Of others only `report.compare` and `report.scaling` come in.
void complete(Report& report, const Run& run, const AnalysisOptions& options) {
  const Window& window = report.window;
  report.steps = steps_of(run, window);
  report.devices = devices_of(run, window);
  report.operators = operators_of(run, window);
  const auto rates = machine_of_run(report.job, {.said = options.rates, .measured_here = options.measured_here});
  const MachineRates machine = rates.value_or(MachineRates{});
  report.input = input_limit_of(run, window, report.job, report.efficiency.no_input_seconds, report.problems);
  const MeasuredAllreduce measured = allreduce_for(rates, options);
  report.collectives = collectives_of(run, window, measured);
  report.roofline = layer_roofline_of(run, window, report.job, machine);
  if (report.roofline) report.efficiency.computation = computation_of(*report.roofline);
  report.tree = tree_of(report.efficiency, report.scaling, report.source);
  if (report.efficiency.device)
    report.device_tree = with_computation(*report.efficiency.device, report.efficiency.computation);
  report.bottlenecks = bottlenecks_of({.run = run,
                                       .window = window,
                                       .job = report.job,
                                       .machine = machine,
                                       .steps = report.steps,
                                       .input = report.input,
                                       .collectives = report.collectives,
                                       .measured = measured});
  const Evidence evidence{.run = run,
                          .window = window,
                          .efficiency = report.efficiency,
                          .steps = report.steps,
                          .phases = report.phases,
                          .facts = report.job,
                          .input = report.input ? &*report.input : nullptr,
                          .comm = report.collectives.fit ? &*report.collectives.fit : nullptr,
                          .rates = rates ? &*rates : nullptr,
                          .roofline = report.roofline ? &*report.roofline : nullptr};
  report.advice = advise(evidence);
  report.verdict = verdict_of(evidence, report.advice);
  report.guide = guide_of(evidence, report.advice, report.scaling ? &*report.scaling : nullptr);
  if (options.timeline)
    report.timeline =
        timeline_of(run, report.steps, pieces_of(run, window, report.steps, places_of(report.advice, window)));
}

}  // namespace

std::shared_ptr<Report> analyse(const std::vector<std::filesystem::path>& sources, const AnalysisOptions& options) {
  if (sources.empty()) throw Error::bad_input("no run was given to report on");
  std::optional<Run> main;
  auto report = std::make_shared<Report>();
  std::vector<RunSummary> summaries;
  std::vector<Profile> profiles;
  const std::uint64_t memory = options.memory / std::min<std::size_t>(2, sources.size());
  for (const auto& source : sources) {
    BoundedRun read = read_bounded(source, {.steps = options.steps, .memory = memory, .threads = options.threads});
    Report begun = begun_report(read);
    summaries.push_back(summary_of(begun));
    profiles.push_back(begun.profile);
    if (main && main->world_size > read.run.world_size) continue;
    main = std::move(read.run);
    *report = std::move(begun);
  }
  if (sources.size() > 1) explain_runs(summaries, report->problems);
  if (sources.size() == 2 && summaries[0].ranks == summaries[1].ranks)
    report->compare = compare(profiles[0], profiles[1]);
  if (sources.size() > 1) report->scaling = scaling_of(summaries);
  complete(*report, *main, options);
  return report;
}

}  // namespace ronde::report
