// A training step's gradients, submitted one by one, against as many bytes in one piece.
#include "ronde/base/error.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/turns.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/training/models.h"

namespace ronde::bench {
namespace {

void add_bars(Report& report, const std::string& model, double ratio, double us_per_tensor) {
  if (model == "resnet50")
    report.bars.push_back(
        {"resnet50_over_contiguous", "resnet50: a step over one contiguous allreduce", 1 / ratio, 1.15, false});
  if (model == "many-small")
    report.bars.push_back({"many_small_us_per_tensor", "many-small: us a tensor", us_per_tensor, 1.0, false});
}

void add_row(Report& report, const std::string& model, Options options) {
  const auto parameters = detail::parameters_of(model);
  const auto tensors = parameters.size(), bytes = detail::elements_of(parameters) * sizeof(float);
  const int ranks = detail::one_number_of_ranks(options);
  options.model = model;
  detail::Contestant ronde(detail::our_entrant("step", detail::cpus_for(ranks), options));
  ronde.wait_until_ready(detail::start_deadline());
  const auto ask = [&](const auto& command) { return ronde.ask(command); };
  const auto medians =
      detail::take_turns({{"step", "step", ask}, {"contiguous", "contiguous", ask}}, {.bytes = bytes}, options.turns);
  const double step = medians[0].value().us, contiguous = medians[1].value().us;
  const double ratio = contiguous / (step - options.compute_us), each = step / static_cast<double>(tensors);
  report.rows.push_back({{"ranks", ranks},
                         {"model", model},
                         {"tensors", tensors},
                         {"bytes", bytes},
                         {"compute_us", options.compute_us},
                         {"step_us", step},
                         {"contiguous_us", contiguous},
                         {"ratio_contiguous", ratio},
                         {"us_per_tensor", each}});
  if (options.compute_us == 0) add_bars(report, model, ratio, each);
}

}  // namespace

Report run_step(const Options& options) {
  if (options.autotune) return run_step_autotuned(options);
  Report report{.name = "step"};
  const auto models = options.model.empty() ? detail::model_names() : std::vector{options.model};
  for (const std::string& model : models) add_row(report, model, options);
  return report;
}

}  // namespace ronde::bench
