#pragma once

namespace ronde::comm::math {

// Instruction sets for which the loops over elements are compiled. All give the same bits.
enum class Level { Baseline, Avx2, Avx512 };

// Whether this processor has the instructions of `level`. The baseline (SSE2, or NEON on ARM) is everywhere.
bool can_run(Level level);

Level best_level();

}  // namespace ronde::comm::math
