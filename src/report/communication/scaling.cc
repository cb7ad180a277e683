#include "ronde/report/communication/scaling.h"

#include <algorithm>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::report {
namespace {

constexpr double kTelling = 0.02;       // differences below are noise
constexpr double kFarLimit = 10;        // times as fast as the fastest run: no limit that anybody meets
constexpr double kMemoryFull = 0.9;     // of what a rank may use
constexpr double kPhaseGrows = 0.05;    // by which the share of a phase grows before it is named
constexpr double kOverheadGrows = 1.5;  // Karp and Flatt's share, from the first run to the last

double times(const ScaledRun& run, const ScaledRun& reference) {
  return static_cast<double>(run.run.ranks) / reference.run.ranks;
}

double batch_share(const RunSummary& run) {
  return static_cast<double>(run.batch) / run.ranks;
}

ScalingKind kind_of(const std::vector<RunSummary>& runs) {
  const RunSummary& first = runs.front();
  if (std::ranges::any_of(runs, [](const RunSummary& run) { return run.batch <= 0; })) return ScalingKind::Mixed;
  if (std::ranges::all_of(runs, [&](const RunSummary& run) { return run.batch == first.batch; }))
    return ScalingKind::Strong;
  const auto same_share = [&](const RunSummary& run) { return run.batch * first.ranks == first.batch * run.ranks; };
  return std::ranges::all_of(runs, same_share) ? ScalingKind::Weak : ScalingKind::Mixed;
}

ScaledRun scaled(RunSummary run, const RunSummary& reference) {
  ScaledRun result;
  const double n = static_cast<double>(run.ranks) / reference.ranks;
  result.speedup = run.samples_per_second / reference.samples_per_second;
  result.efficiency = result.speedup / n;
  const bool known = run.useful_seconds > 0 && reference.useful_seconds > 0;
  result.computation_scaling = known ? reference.useful_seconds / run.useful_seconds : 1;
  if (n > 1) result.karp_flatt = (1 / result.speedup - 1 / n) / (1 - 1 / n);
  result.global = {
      .key = "global",
      .name = "global efficiency",
      .value = run.parallel.value * result.computation_scaling,
      .meaning =
          "Parallel efficiency times computation scaling: the useful share of the ranks' time, measured against the "
          "cost of a sample in the smallest run.",
      .children = {run.parallel,
                   {.key = "computation_scaling",
                    .name = "computation scaling",
                    .value = result.computation_scaling,
                    .meaning = "Useful time per sample in the smallest run, divided by that in this run."}}};
  result.run = std::move(run);
  return result;
}

// The factors that nothing below explains.
void leaves(const Factor& factor, std::vector<const Factor*>& into) {
  if (factor.children.empty()) into.push_back(&factor);
  for (const Factor& child : factor.children) leaves(child, into);
}

// How a leaf changed from the reference to a run, as a factor; 1 where it is not known in both.
double change(const Factor& leaf, const ScaledRun& reference) {
  const Factor* before = reference.global.find(leaf.key);
  return before && before->value > 0 ? leaf.value / before->value : 1;
}

const Factor* most_lost(const ScaledRun& run, const ScaledRun& reference) {
  std::vector<const Factor*> all;
  leaves(run.global, all);
  const auto worst = std::ranges::min_element(all, {}, [&](const Factor* leaf) { return change(*leaf, reference); });
  return worst != all.end() && change(**worst, reference) < 1 - kTelling ? *worst : nullptr;
}

// Why a sample costs less useful time than in the reference: what differs between the two that could make it so.
std::string why_cheaper(const RunSummary& run, const RunSummary& reference) {
  const double share = batch_share(run), share_before = batch_share(reference);
  if (!run.precision.empty() && !reference.precision.empty() && run.precision != reference.precision)
    return fmt::format("the runs differ in precision ({} and {})", reference.precision, run.precision);
  if (run.threads > reference.threads && reference.threads > 0)
    return fmt::format("its ranks have {} each, but those of the smallest run have {}",
                       counted(static_cast<std::size_t>(run.threads), "thread"), reference.threads);
  if (reference.memory_limit_bytes > 0 && reference.memory_bytes > kMemoryFull * reference.memory_limit_bytes)
    return fmt::format("memory: a rank of the smallest run uses {} of {}, close to its limit",
                       format_bytes(static_cast<std::uint64_t>(reference.memory_bytes)),
                       format_bytes(static_cast<std::uint64_t>(reference.memory_limit_bytes)));
  if (run.batch > 0 && reference.batch > 0 && share < share_before) {
    const std::string smaller = run.memory_bytes > 0 && run.memory_bytes < reference.memory_bytes
                                    ? fmt::format(", and its memory from {} to {}",
                                                  format_bytes(static_cast<std::uint64_t>(reference.memory_bytes)),
                                                  format_bytes(static_cast<std::uint64_t>(run.memory_bytes)))
                                    : std::string();
    return fmt::format(
        "cache: a rank's share of the batch shrinks from {:.4g} to {:.4g} samples{}, so more of its data stays in "
        "caches",
        share_before, share, smaller);
  }
  if (run.batch > 0 && reference.batch > 0 && share > share_before)
    return fmt::format(
        "batch: a rank's share of the batch grows from {:.4g} to {:.4g} samples, which spreads the fixed cost of a "
        "step over more samples",
        share_before, share);
  if (run.clock_ghz > reference.clock_ghz * (1 + kTelling) && reference.clock_ghz > 0)
    return fmt::format("its cores ran at {:.2f} GHz, those of the smallest run at {:.2f}", run.clock_ghz,
                       reference.clock_ghz);
  return "the batch per rank is the same in both runs, so neither cache nor batch explains it: measure the smallest "
         "run again, alone on its node";
}

// Efficiency = change of the parallel efficiency x computation scaling: one of the two, or both, must be above 1.
std::string why_superlinear(const std::vector<ScaledRun>& runs) {
  const ScaledRun& reference = runs.front();
  const auto best = std::ranges::max_element(runs, {}, &ScaledRun::efficiency);
  if (best->efficiency <= 1 + kTelling) return "";
  std::vector<std::string> reasons;
  if (best->computation_scaling > 1 + kTelling)
    reasons.push_back(fmt::format("computing a sample takes {:.0f} % less time: {}",
                                  100 * (1 - 1 / best->computation_scaling), why_cheaper(best->run, reference.run)));
  std::vector<const Factor*> all;
  leaves(best->run.parallel, all);
  const auto gained = std::ranges::max_element(all, {}, [&](const Factor* leaf) { return change(*leaf, reference); });
  if (gained != all.end() && change(**gained, reference) > 1 + kTelling)
    reasons.push_back(fmt::format("the smallest run lost more: {} was {:.2f} there and is {:.2f} here", (*gained)->name,
                                  reference.global.find((*gained)->key)->value, (*gained)->value));
  if (reasons.empty())
    reasons.emplace_back("no factor of the tree explains it: the speeds were measured under different conditions");
  return fmt::format("{} ranks are {:.2f} times as fast as {}, although they are only {:.3g} times as many: {}.",
                     best->run.ranks, best->speedup, reference.run.ranks, times(*best, reference),
                     join(reasons, "; and "));
}

// Least squares of relative errors: times span an order of magnitude, and the last run counts as much as the first.
std::optional<AmdahlFit> fit_amdahl(const std::vector<ScaledRun>& runs) {
  const ScaledRun& reference = runs.front();
  double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0;  // of x a + y b = 1, with x = v, y = v / n, v = 1 / time
  for (const ScaledRun& run : runs) {
    const double x = run.speedup, y = run.speedup / times(run, reference);
    xx += x * x, xy += x * y, yy += y * y, x1 += x, y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  if (determinant <= 1e-12 * xx * yy) return {};
  const double a = (x1 * yy - y1 * xy) / determinant, b = (y1 * xx - x1 * xy) / determinant;
  AmdahlFit fit;
  if (a + b <= 0) return {};
  fit.serial_fraction = std::clamp(a / (a + b), 0.0, 1.0);
  if (fit.serial_fraction > 0) fit.limit = 1 / fit.serial_fraction;
  const double first =
      *std::ranges::find_if(runs, [](const ScaledRun& run) { return run.karp_flatt.has_value(); })->karp_flatt;
  const double last = *runs.back().karp_flatt;
  if (fit.serial_fraction < kTelling / 10) {
    fit.text = "These runs show no sequential share.";
    return fit;
  }
  if (fit.limit > kFarLimit * std::ranges::max_element(runs, {}, &ScaledRun::speedup)->speedup) {
    fit.text = fmt::format(
        "{:.1f} % of the smallest run behaves as if it were sequential (Amdahl): far from a limit for so many ranks.",
        100 * fit.serial_fraction);
    return fit;
  }
  fit.text = fmt::format(
      "{:.1f} % of the smallest run behaves like sequential work (Amdahl's law): no number of ranks makes it more than "
      "{:.1f} times faster.",
      100 * fit.serial_fraction, fit.limit);
  if (first > 0 && last > kOverheadGrows * first)
    fit.text += fmt::format(
        " This share (Karp-Flatt metric) grows with the number of ranks, from {:.1f} to {:.1f} %: it is overhead "
        "between ranks rather than sequential work.",
        100 * first, 100 * last);
  return fit;
}

// A phase that takes a larger share of the largest run than of the smallest.
std::string grown_phase(const ScaledRun& run, const ScaledRun& reference) {
  const Phase* worst = nullptr;
  double most = kPhaseGrows;
  const auto share_of = [&](PhaseKind kind) {
    const auto found = std::ranges::find(reference.run.phases, kind, &Phase::kind);
    return found == reference.run.phases.end() ? 0 : found->share;
  };
  for (const Phase& phase : run.run.phases)
    if (phase.kind != PhaseKind::Training && phase.share - share_of(phase.kind) >= most) {
      worst = &phase;
      most = phase.share - share_of(phase.kind);
    }
  if (!worst) return "";
  return fmt::format(" The phase '{}' grows from {:.0f} to {:.0f} % of the run.", name(worst->kind),
                     100 * share_of(worst->kind), 100 * worst->share);
}

std::string text_of(const Scaling& scaling) {
  const ScaledRun &reference = scaling.runs.front(), &largest = scaling.runs.back();
  std::string text;
  if (scaling.kind == ScalingKind::Strong)
    text = fmt::format("Strong scaling: the batch is {} in all runs. ", reference.run.batch);
  else if (scaling.kind == ScalingKind::Weak)
    text =
        fmt::format("Weak scaling: each rank has {:.4g} samples per batch in all runs. ", batch_share(reference.run));
  else
    text =
        "Neither strong nor weak scaling: both the batch and a rank's share of it differ between the runs, which may "
        "change the cost of a sample. ";
  text += fmt::format("{} ranks are {:.2f} times as fast as {}: an efficiency of {:.0f} %.", largest.run.ranks,
                      largest.speedup, reference.run.ranks, 100 * largest.efficiency);
  if (const Factor* factor = scaling.lost.empty() ? nullptr : largest.global.find(scaling.lost))
    text += fmt::format(" Most is lost in {}, which falls from {:.2f} to {:.2f}.", factor->name,
                        reference.global.find(factor->key)->value, factor->value);
  if (scaling.lost == "computation_scaling" && largest.run.threads > 0 && largest.run.threads < reference.run.threads)
    text += fmt::format(" A rank has {} there, but {} in the smallest run: the ranks share the same cores.",
                        counted(static_cast<std::size_t>(largest.run.threads), "thread"), reference.run.threads);
  return text + grown_phase(largest, reference);
}

}  // namespace

std::string_view name(ScalingKind kind) {
  switch (kind) {
    case ScalingKind::Strong: return "strong";
    case ScalingKind::Weak: return "weak";
    case ScalingKind::Mixed: return "mixed";
  }
  return "";
}

std::optional<Scaling> scaling_of(std::vector<RunSummary> runs) {
  std::erase_if(runs, [](const RunSummary& run) { return run.ranks < 1 || !(run.samples_per_second > 0); });
  std::ranges::stable_sort(runs, {}, &RunSummary::ranks);
  if (runs.empty() || runs.front().ranks == runs.back().ranks) return {};
  Scaling scaling{.kind = kind_of(runs)};
  for (const RunSummary& run : runs) scaling.runs.push_back(scaled(run, runs.front()));
  if (const Factor* lost = most_lost(scaling.runs.back(), scaling.runs.front())) scaling.lost = lost->key;
  scaling.superlinear = why_superlinear(scaling.runs);
  if (scaling.kind == ScalingKind::Strong) scaling.amdahl = fit_amdahl(scaling.runs);
  scaling.text = text_of(scaling);
  return scaling;
}

}  // namespace ronde::report
