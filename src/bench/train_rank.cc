#include <memory>

#include "ronde/bench/detail/serve.h"
#include "ronde/bench/detail/train_work.h"
#include "ronde/bench/rank.h"

namespace ronde::bench {

void serve_train_rank(const RankOptions& options) {
  const std::shared_ptr bootstrap = detail::meet(options);
  detail::TrainWork work(options, bootstrap);
  detail::serve(*bootstrap, [&](const detail::Command& command) { return work.answer(command); });
}

}  // namespace ronde::bench
