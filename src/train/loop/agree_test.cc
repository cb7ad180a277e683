#include "ronde/train/loop/agree.h"
#include "ronde/base/settings/settings.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/thread_job.h"

namespace ronde::train {
namespace {

TEST(Agree, SaysWhichKeysDifferAndWhere) {
  comm::run_ranks(3, [](comm::Engine& engine) {
    Settings settings;
    require_same_settings(settings, engine.world());
    if (engine.rank() == 1) settings.set("train.batch", "128", "test");
    try {
      require_same_settings(settings, engine.world());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      EXPECT_NE(error.message().find("train.batch is '128' on rank 1 and '64' on ranks 0, 2"), std::string::npos)
          << error.message();
    }
  });
}

TEST(Agree, OnAnyRank) {
  comm::run_ranks(3, [](comm::Engine& engine) {
    EXPECT_FALSE(on_any_rank(false, "flag", engine.world()));
    EXPECT_TRUE(on_any_rank(engine.rank() == 2, "flag", engine.world()));
  });
}

TEST(Agree, AnObjectionIsHeardByAll) {
  comm::run_ranks(4, [](comm::Engine& engine) {
    EXPECT_EQ(objection("", "all well", engine.world()), "");
    const std::string mine = engine.rank() < 2 ? "" : "this is rank " + std::to_string(engine.rank());
    EXPECT_EQ(objection(mine, "some not", engine.world()), mine.empty() ? "rank 2: this is rank 2" : mine);
  });
  comm::run_ranks(1, [](comm::Engine& engine) { EXPECT_EQ(objection("no", "alone", engine.world()), "no"); });
}

}  // namespace
}  // namespace ronde::train
