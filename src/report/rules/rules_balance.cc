#include <algorithm>
#include <map>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

// Some ranks have more to do than others, or are slower: always the same ones, or now this one and now that one.
namespace ronde::report::rules {
namespace {

constexpr double kNearlyAlways = 0.75;   // of the steps
constexpr double kSlowNode = 0.02;       // by which all ranks of a node take longer than the others' mean
constexpr double kClockBelow = 0.05;     // that the clock of the slow ones is below the others'
constexpr double kClockFalls = 0.1;      // from the first quarter of a run to the last: it gets too hot
constexpr double kLeastNoise = 0.05;     // of the run: steps are never quite alike
constexpr double kUnevenExplains = 0.5;  // of the excess, by shares of the batch that differ

// Ranks that are slower than the rest, as places in StepTable::ranks.
struct Slow {
  std::vector<std::size_t> places = {};
  std::string who = {};  // "rank 1 (node7)", "node7"
  bool node = false;
  double excess = 0;          // of their work over the others', both as means, in a usual step
  double gain = 0;            // if they were as fast as the slowest other
  std::size_t worst = 0;      // step, by place
  std::size_t example = 0;    // rank, by place
  double share_of_steps = 0;  // in which one of them has most work
};

bool holds(const std::vector<std::size_t>& places, std::size_t place) {
  return std::ranges::find(places, place) != places.end();
}

// Fills in the numbers for these ranks against all others.
Slow measured(const Evidence& evidence, Slow slow) {
  const auto& ranks = evidence.steps.ranks;
  double gained = 0, worst = -1;
  std::vector<double> excess;
  for (std::size_t step = 0; step < evidence.steps.numbers.size(); ++step) {
    double most = 0, most_other = 0;
    std::size_t who = slow.places.front();
    std::vector<double> mine, theirs;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const double here = ranks[i].steps[step].work();
      (holds(slow.places, i) ? mine : theirs).push_back(here);
      if (!holds(slow.places, i)) most_other = std::max(most_other, here);
      if (holds(slow.places, i) && here > most) most = here, who = i;
    }
    if (mean(theirs) > 0) excess.push_back(mean(mine) / mean(theirs) - 1);
    gained += std::max(0.0, most - most_other);
    if (most - most_other > worst) {
      worst = most - most_other;
      slow.worst = step;
      slow.example = who;
    }
  }
  slow.excess = median(std::move(excess));
  slow.gain = evidence.efficiency.seconds > 0 ? gained / evidence.efficiency.seconds : 0;
  return slow;
}

// A node all of whose ranks are slow, one of which has most work in nearly all steps.
std::optional<Slow> slow_node(const Evidence& evidence) {
  const StepTable& steps = evidence.steps;
  std::map<std::string, std::vector<std::size_t>> hosts;
  std::map<int, std::string> host_of;
  for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
    hosts[steps.ranks[i].host].push_back(i);
    host_of[steps.ranks[i].rank] = steps.ranks[i].host;
  }
  if (hosts.size() < 2 || steps.slowest.empty()) return {};
  std::map<std::string, std::size_t> slowest;
  for (const int rank : steps.slowest) ++slowest[host_of[rank]];
  const auto most = std::ranges::max_element(slowest, {}, [](const auto& entry) { return entry.second; });
  Slow slow{.places = hosts[most->first], .who = most->first, .node = true};
  slow.share_of_steps = static_cast<double>(most->second) / static_cast<double>(steps.slowest.size());
  if (slow.places.size() < 2 || slow.share_of_steps < kNearlyAlways) return {};
  slow = measured(evidence, std::move(slow));
  double sum = 0, least = -1;
  for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
    const double mine = steps.ranks[i].all.work();
    if (!holds(slow.places, i))
      sum += mine;
    else if (least < 0 || mine < least)
      least = mine;
  }
  const double mean = sum / static_cast<double>(steps.ranks.size() - slow.places.size());
  return least > (1 + kSlowNode) * mean ? std::optional(slow) : std::nullopt;
}

std::optional<Slow> find_slow(const Evidence& evidence) {
  if (evidence.steps.ranks.size() < 2) return {};
  if (auto node = slow_node(evidence)) return node;
  const SlowestRank& rank = evidence.steps.slow;
  const auto found = std::ranges::find(evidence.steps.ranks, rank.rank, &RankSteps::rank);
  if (rank.rank < 0 || found == evidence.steps.ranks.end()) return {};
  Slow slow{.places = {static_cast<std::size_t>(found - evidence.steps.ranks.begin())},
            .who = fmt::format("rank {} ({})", rank.rank, rank.host)};
  slow.share_of_steps = rank.share_of_steps;
  return measured(evidence, std::move(slow));
}

// Points of the counter "core clock" of a rank, in the window.
std::vector<double> clocks_of(const Evidence& evidence, int rank) {
  std::vector<double> values;
  const auto name = evidence.run.names.find("core clock");
  const auto traced = std::ranges::find(evidence.run.ranks, rank, &trace::RankTrace::rank);
  if (!name || traced == evidence.run.ranks.end()) return values;
  for (const trace::CounterSeries& series : traced->counters)
    if (series.name == *name)
      for (const auto& point : series.points)
        if (point.time >= evidence.window.time.begin && point.time <= evidence.window.time.end)
          values.push_back(point.value);
  return values;
}

double mean_of_part(const std::vector<double>& values, std::size_t from, std::size_t count) {
  double sum = 0;
  for (std::size_t i = from; i < from + count; ++i) sum += values[i];
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

// While training, where that was recorded; otherwise as measured at the start. 0: not known.
double clock_of(const Evidence& evidence, int rank) {
  const std::vector<double> values = clocks_of(evidence, rank);
  if (!values.empty()) return mean(values);
  const auto found = evidence.facts.clock_ghz.find(rank);
  return found == evidence.facts.clock_ghz.end() ? 0 : found->second;
}

std::string falling_clock(const Evidence& evidence, int rank) {
  const std::vector<double> values = clocks_of(evidence, rank);
  const std::size_t quarter = values.size() / 4;
  if (quarter == 0) return "";
  const double first = mean_of_part(values, 0, quarter), last = mean_of_part(values, values.size() - quarter, quarter);
  if (last > (1 - kClockFalls) * first) return "";
  return fmt::format(" It falls from {:.2f} to {:.2f} GHz during the run: the processor is probably too hot.", first,
                     last);
}

// The slow ones run at a lower clock than the others.
bool explain_by_clock(const Evidence& evidence, const Slow& slow, Advice& advice) {
  std::vector<double> mine, theirs;
  for (std::size_t i = 0; i < evidence.steps.ranks.size(); ++i)
    if (const double clock = clock_of(evidence, evidence.steps.ranks[i].rank); clock > 0)
      (holds(slow.places, i) ? mine : theirs).push_back(clock);
  const double low = median(mine), usual = median(theirs);
  if (low <= 0 || low > (1 - kClockBelow) * usual) return false;
  advice.rule = "clock";
  advice.title = fmt::format("{} runs at a lower clock than the others", slow.node ? "One node" : "One rank's core");
  advice.evidence += fmt::format(" Its clock is {:.2f} GHz, but that of the others is {:.2f} GHz.{}", low, usual,
                                 falling_clock(evidence, evidence.steps.ranks[slow.example].rank));
  advice.change = fmt::format("Check the cooling, power limit and frequency governor of {}{}",
                              evidence.steps.ranks[slow.example].host,
                              evidence.facts.nodes > 1 ? ", or exclude it from the job." : ".");
  advice.because += fmt::format(" at a clock of {:.2f} instead of {:.2f} GHz", low, usual);
  return true;
}

// Samples that do not divide by ranks: some have one more than others.
bool explain_by_batch(const Evidence& evidence, const Slow& slow, Advice& advice) {
  const auto ranks = static_cast<std::int64_t>(evidence.run.world_size);
  const std::int64_t batch = evidence.facts.batch;
  if (batch <= 0 || ranks <= 0 || batch % ranks == 0) return false;
  const std::int64_t least = batch / ranks;
  const double expected = least > 0 ? 1.0 / static_cast<double>(least) : 1;
  if (expected < kUnevenExplains * slow.excess) return false;
  advice.rule = "uneven_batch";
  advice.title = "The batch is not divisible by the number of ranks";
  advice.evidence += fmt::format(" With a batch of {}, some of the {} ranks get {} samples and others {}.", batch,
                                 ranks, least + 1, least);
  advice.change = "Choose a batch that is a multiple of the number of ranks.";
  advice.setting = fmt::format("train.batch={}", (least + 1) * ranks);
  advice.because = fmt::format("a batch of {} is not divisible by {} ranks", batch, ranks);
  return true;
}

Advice for_slow(const Evidence& evidence, const Slow& slow) {
  const StepTable& steps = evidence.steps;
  Advice advice{.gain = slow.gain};
  advice.evidence = fmt::format(
      "{} takes {} longer for its work than the others, and has the most work in {} of the steps. If it were as fast "
      "as the slowest of the others, {} of {} would be saved.",
      slow.who, percent_text(slow.excess), percent_text(slow.share_of_steps),
      seconds_text(slow.gain * evidence.efficiency.seconds), seconds_text(evidence.efficiency.seconds));
  advice.because = fmt::format("{} is {} slower than the others", slow.who, percent_text(slow.excess));
  const auto traced = std::ranges::find(evidence.run.ranks, steps.ranks[slow.example].rank, &trace::RankTrace::rank);
  for (const trace::TracedStep& step : traced->steps)
    if (step.number == steps.numbers[slow.worst])
      advice.at = place_of(evidence, static_cast<std::size_t>(traced - evidence.run.ranks.begin()), step.time);
  if (explain_by_clock(evidence, slow, advice) || explain_by_batch(evidence, slow, advice)) return advice;
  advice.rule = slow.node ? "slow_node" : "slow_rank";
  advice.title = slow.node ? "One node is slower than the others" : "One rank is slower than the others";
  advice.change = fmt::format(
      "Check {} for other programs, a throttled clock ('ronde run --check') or fewer cores than on other nodes{}",
      steps.ranks[slow.example].host,
      evidence.facts.nodes > 1 ? ". If the node is at fault, exclude it from the job." : ".");
  return advice;
}

// In each step the others wait for the one with most work, whoever that is.
Advice for_wandering(const Evidence& evidence) {
  const StepTable& steps = evidence.steps;
  double lost = 0, worst = -1;
  std::size_t worst_step = 0, worst_rank = 0;
  for (std::size_t step = 0; step < steps.numbers.size(); ++step) {
    double most = 0, sum = 0;
    std::size_t who = 0;
    for (std::size_t i = 0; i < steps.ranks.size(); ++i) {
      const double here = steps.ranks[i].steps[step].work();
      sum += here;
      if (here > most) most = here, who = i;
    }
    const double here = most - sum / static_cast<double>(steps.ranks.size());
    lost += here;
    if (here > worst) worst = here, worst_step = step, worst_rank = who;
  }
  Advice advice{.rule = "imbalance", .title = "The work of ranks differs from step to step"};
  if (evidence.efficiency.seconds <= 0 || steps.numbers.empty()) return advice;
  advice.gain = lost / evidence.efficiency.seconds;
  advice.evidence = fmt::format(
      "In an average step the rank with the most work takes {} longer than the average rank, and it is not always the "
      "same rank. The worst is step {}, where rank {} takes {} longer.",
      seconds_text(lost / static_cast<double>(steps.numbers.size())), steps.numbers[worst_step],
      steps.ranks[worst_rank].rank, seconds_text(worst));
  advice.change =
      "If samples differ in size or length, put samples of similar size into one batch; otherwise check what else runs "
      "on the nodes. More samples per step even it out.";
  advice.setting = memory_for_twice(evidence) ? twice_the_batch(evidence) : "";
  advice.because = "the work of ranks differs from step to step, and all wait for the rank that has the most";
  const auto traced = std::ranges::find(evidence.run.ranks, steps.ranks[worst_rank].rank, &trace::RankTrace::rank);
  for (const trace::TracedStep& step : traced->steps)
    if (step.number == steps.numbers[worst_step])
      advice.at = place_of(evidence, static_cast<std::size_t>(traced - evidence.run.ranks.begin()), step.time);
  return advice;
}

}  // namespace

std::vector<Advice> of_balance(const Evidence& evidence) {
  std::vector<Advice> advice;
  if (evidence.steps.ranks.size() < 2) return advice;
  const auto slow = find_slow(evidence);
  advice.push_back(slow ? for_slow(evidence, *slow) : for_wandering(evidence));
  if (!slow && advice.back().gain < kLeastNoise) advice.pop_back();
  return advice;
}

}  // namespace ronde::report::rules
