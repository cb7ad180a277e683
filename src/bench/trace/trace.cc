// What recording a trace costs a training: steps of the smallest example, recorded and not, in turns in one job.
#include <algorithm>
#include <string>

#include "ronde/bench/benchmarks.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/trace/trace_pairs.h"

namespace ronde::bench {
namespace {

constexpr const char* kModel = "resnet20";  // that of recipes/demo.toml,
constexpr int kBatch = 32;                  // and a rank's share of its batch on two ranks
constexpr double kTurnUs = 400'000;         // that one turn takes, about,
constexpr int kLeastSteps = 20;             // but no fewer steps

}  // namespace

Report run_trace(const Options& options) {
  const int ranks = detail::one_number_of_ranks(options);
  Options wanted = options;
  wanted.model = kModel;
  const int batch = options.batch > 0 ? options.batch : kBatch;
  detail::Entrant entrant = detail::our_entrant("train", detail::cpus_for(ranks), wanted);
  entrant.command.insert(entrant.command.end(), {"--batch", std::to_string(batch), "--variant", "traced"});
  detail::Contestant job(entrant);
  job.wait_until_ready(detail::start_deadline());

  detail::Command plain{.what = "step", .warm_up = 4};
  plain.rounds = std::max(kLeastSteps, detail::rounds_for(job.ask(plain).value(), kTurnUs));
  detail::Command recorded = plain;
  recorded.what = "recorded";
  const detail::TracePairs result = detail::take_pairs(
      options.turns, [&] { return job.ask(plain).value(); }, [&] { return job.ask(recorded).value(); });

  Report report{.name = "trace"};
  report.rows.push_back({{"ranks", ranks},
                         {"model", kModel},
                         {"batch", batch},
                         {"pairs", options.turns},
                         {"steps", plain.rounds},
                         {"step_us", result.plain_us},
                         {"recorded_us", result.recorded_us},
                         {"ratio", result.ratio}});
  report.bars.push_back(
      {"recorded_over_plain", "step time with a trace / without, median of the pairs", result.ratio, 1.01, false});
  return report;
}

}  // namespace ronde::bench
