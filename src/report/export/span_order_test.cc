#include "ronde/report/export/span_order.h"

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"

namespace ronde::report::exporting {
namespace {

class Told final : public SpanOrder::Out {
 public:
  void enter(const RowSpan& span, std::int64_t time) override { text += fmt::format("+{}@{} ", span.what, time); }
  void leave(const RowSpan& span, std::int64_t time) override { text += fmt::format("-{}@{} ", span.what, time); }

  std::string text;
};

void add(SpanOrder& order, std::uint32_t what, std::int64_t begin, std::int64_t end) {
  order.begin({.begin = begin, .what = what});
  ASSERT_NE(order.end(end), nullptr);
}

TEST(SpanOrder, PutsASpanBeforeThoseItHolds) {
  Told told;
  SpanOrder order(told);
  add(order, 1, 20, 30);
  add(order, 2, 10, 40);
  add(order, 3, 40, 50);
  add(order, 4, 40, 60);
  order.finish();
  EXPECT_EQ(told.text, "+2@10 +1@20 -1@30 -2@40 +4@40 +3@40 -3@50 -4@60 ");
  EXPECT_EQ(order.late(), 0u);
}

TEST(SpanOrder, EndsWhatIsOpenWithWhatCameLast) {
  Told told;
  SpanOrder order(told);
  order.begin({.begin = 10, .what = 1});
  order.begin({.begin = 20, .what = 2});
  EXPECT_EQ(order.end(30)->what, 2u);
  order.finish();
  EXPECT_EQ(told.text, "+1@10 +2@20 -2@30 -1@30 ");
  EXPECT_EQ(order.end(40), nullptr);
}

TEST(SpanOrder, KeepsABoundedNumberBack) {
  Told told;
  SpanOrder order(told, 2);
  order.begin({.begin = 0, .what = 9});  // open all the time
  for (std::uint32_t i = 1; i <= 6; ++i) add(order, i, 10 * i, 10 * i + 5);
  EXPECT_FALSE(told.text.empty());
  add(order, 8, 5, 7);  // too late
  EXPECT_EQ(order.end(100)->what, 9u);
  order.finish();
  EXPECT_EQ(order.late(), 1u);
  EXPECT_TRUE(told.text.starts_with("+9@0 +1@10 -1@15 +2@20 -2@25 +3@30 ")) << told.text;
  EXPECT_NE(told.text.find("+8@"), std::string::npos);
  EXPECT_TRUE(told.text.ends_with("-9@100 ")) << told.text;
}

TEST(SpanOrder, WhatReachesOutEndsWithItsHolder) {
  Told told;
  SpanOrder order(told);
  add(order, 1, 0, 20);
  add(order, 2, 10, 30);
  order.finish();
  EXPECT_EQ(told.text, "+1@0 +2@10 -2@20 -1@20 ");
}

}  // namespace
}  // namespace ronde::report::exporting
