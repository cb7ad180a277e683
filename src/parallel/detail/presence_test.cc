#include "ronde/parallel/detail/presence.h"

#include <limits>

#include <gtest/gtest.h>

namespace ronde::parallel::detail {
namespace {

TEST(Presence, IsAgreedOnByAnyNumberOfRanks) {
  EXPECT_EQ(agreed_from(0), Presence::None);
  for (const std::int64_t ranks : {1L, 2L, 32'767L, 32'768L, 65'535L, 65'536L, 131'072L, (1L << 31) - 1}) {
    EXPECT_EQ(agreed_from(ranks * vote(Presence::Dense)), Presence::Dense) << ranks;
    EXPECT_EQ(agreed_from(ranks * vote(Presence::Sparse)), Presence::Sparse) << ranks;
    EXPECT_EQ(agreed_from(ranks * (vote(Presence::Dense) + vote(Presence::Sparse))), Presence::Sparse) << ranks;
  }
}

}  // namespace
}  // namespace ronde::parallel::detail
