#include "ronde/comm/math/reduce_level.h"

#include "ronde/comm/math/reduce_compiled.h"

namespace ronde::comm::math {

bool can_run(Level level) {
  return level == Level::Baseline || processor_has(level);
}

Level best_level() {
  if (can_run(Level::Avx512)) return Level::Avx512;
  return can_run(Level::Avx2) ? Level::Avx2 : Level::Baseline;
}

}  // namespace ronde::comm::math
