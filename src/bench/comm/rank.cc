#include "ronde/bench/comm/rank.h"

#include <memory>
#include <optional>

#include "ronde/bench/comm/rank_work.h"
#include "ronde/bench/detail/lent.h"
#include "ronde/bench/detail/serve.h"
#include "ronde/bench/training/step_work.h"
#include "ronde/comm/bench/link_bench.h"

namespace ronde::bench {

void serve_rank(const RankOptions& options) {
  const std::shared_ptr bootstrap = detail::meet(options);
  const comm::EngineOptions engine_options = detail::bench_engine_options(options.settings);
  comm::Engine engine(std::make_unique<detail::Lent>(bootstrap), engine_options);
  comm::BareLink link(*bootstrap,
                      {.pretend_nodes = engine_options.pretend_nodes,
                       .interfaces = engine_options.interfaces,
                       .tcp_only = engine_options.tcp_only},
                      Deadline::after(detail::kMeetingTime));
  detail::RankWork work(engine, link);
  std::optional<detail::StepWork> step;
  if (!options.model.empty()) step.emplace(engine, detail::parameters_of(options.model), options.compute_us);
  detail::serve(*bootstrap, [&](const detail::Command& command) -> detail::Timing {
    if (step) return step->time(command);
    return work.time(command);
  });
}

}  // namespace ronde::bench
