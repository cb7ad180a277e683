#include "ronde/train/evaluate/kept_results.h"

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

TEST(KeptResults, ComeBackAsTheyWere) {
  const Results accuracy = results_of(Score{.loss = 2, .samples = 3, .top1 = 2, .top5 = 3}, data::Target::Class);
  const auto back = parse_kept_results(kept_text(accuracy));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->measures.front().value, 2.0 / 3) << "every bit of it";
  EXPECT_EQ(text_of(back->measures.front(), 2), "66.67%");
  EXPECT_EQ(back->measures.front().name, "accuracy");
  EXPECT_TRUE(back->reached(2.0 / 3));
  EXPECT_FALSE(back->reached(0.67));
}

TEST(KeptResults, OfAnErrorAreReachedFromAbove) {
  const auto back = parse_kept_results(kept_text(results_of(Score{.loss = 2, .samples = 4}, data::Target::Input)));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->reached(0.5));
  EXPECT_FALSE(back->reached(0.4));
}

TEST(KeptResults, AreNotReadFromAnythingElse) {
  EXPECT_EQ(kept_text(Results{}), "");
  for (const char* text : {"", "accuracy", "accuracy/high/percent/3/accuracy", "a/0.5/percent/three/a", "a/1/b/2/c/d"})
    EXPECT_FALSE(parse_kept_results(text)) << text;
}

}  // namespace
}  // namespace ronde::train
