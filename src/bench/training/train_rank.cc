#include <memory>

#include "ronde/bench/comm/rank.h"
#include "ronde/bench/detail/serve.h"
#include "ronde/bench/training/gpu_work.h"
#include "ronde/bench/training/train_work.h"

namespace ronde::bench {

void serve_train_rank(const RankOptions& options) {
  if (options.variant.starts_with("gpu")) {  // bound to no core: torch's threads of a backward pass need others
    const std::shared_ptr<comm::Bootstrap> alone =
        comm::bootstrap_from(options.environment, Deadline::after(detail::kMeetingTime));
    detail::GpuWork work(options, alone);
    return detail::serve(*alone, [&](const detail::Command& command) { return work.answer(command); });
  }
  const std::shared_ptr bootstrap = detail::meet(options);
  detail::TrainWork work(options, bootstrap);
  detail::serve(*bootstrap, [&](const detail::Command& command) { return work.answer(command); });
}

}  // namespace ronde::bench
