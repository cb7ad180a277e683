#include "ronde/base/error.h"
#include "ronde/bench/comm/rank.h"

namespace ronde::bench {

void serve_train_rank(const RankOptions&) {
  throw Error::bad_input("this build of Ronde has no libtorch and cannot train");
}

}  // namespace ronde::bench
