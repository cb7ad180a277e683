#include <gtest/gtest.h>

#include "ronde/base/settings/settings.h"
#include "ronde/comm/engine.h"

namespace ronde::comm {
namespace {

TEST(EngineOptions, TheirDefaultsAreThoseOfTheSettings) {
  const EngineOptions plain, set = engine_options(Settings::load({}, {}));
  EXPECT_EQ(plain.arena_bytes, set.arena_bytes);
  EXPECT_EQ(plain.fusion_bytes, set.fusion_bytes);
  EXPECT_EQ(plain.first_bucket_bytes, set.first_bucket_bytes);
  EXPECT_EQ(plain.start_timeout, set.start_timeout);
  EXPECT_EQ(plain.stall_warn, set.stall_warn);
  EXPECT_EQ(plain.stall_abort, set.stall_abort);
  EXPECT_EQ(plain.peer_timeout, set.peer_timeout);
  EXPECT_EQ(plain.deterministic, set.deterministic);
  EXPECT_EQ(plain.pretend_nodes, set.pretend_nodes);
  EXPECT_EQ(plain.tcp_only, set.tcp_only);
  EXPECT_EQ(plain.static_plan, set.static_plan);
  EXPECT_EQ(plain.autotune, set.autotune);
}

}  // namespace
}  // namespace ronde::comm
