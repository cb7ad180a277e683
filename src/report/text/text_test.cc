#include "ronde/report/text/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/report/testing/expect_products.h"
#include "ronde/report/testing/sample_report.h"
#include "ronde/report/text/text_parts.h"

namespace ronde::report {
namespace {

using testing::sample_report;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The sample is hand-made: this holds it to what a real report promises.
TEST(TextReport, TheSampleIsConsistent) {
  const Report report = sample_report();
  testing::expect_products(report.tree, 1e-9);
  testing::expect_products(*report.device_tree, 1e-9);
  for (const RankSteps& rank : report.steps.ranks) {
    const Shares& all = rank.all;
    EXPECT_NEAR(all.compute + all.optimizer + all.exposed + all.input + all.idle, all.total, 1e-9) << rank.rank;
  }
}

TEST(TextReport, SaysWhatTheReportSays) {
  const std::string text = text_report(sample_report(), false);
  EXPECT_TRUE(text.starts_with("POOR  Of what these 4 ranks could do, 66 % is left")) << text;
  EXPECT_TRUE(has(text, "! runs/r4/rank3.pftrace ends in the middle of a packet")) << text;
  EXPECT_TRUE(has(text, "runs/r4: recipe cifar-resnet, resnet18, on cifar10, f32, batch 256, 4 ranks, 2 nodes"))
      << text;
  EXPECT_TRUE(has(text, "      load balance         83.9 %  █████████████████████████░░░░░  most is lost here\n"))
      << text;
  EXPECT_TRUE(has(text, "   2  b2    800 ms     78 %        6 %     12 %    4 %   0 %    14 %\n")) << text;
  EXPECT_TRUE(has(text, "decode")) << text;
  EXPECT_TRUE(has(text, "\nRoofline\n  ")) << text;
  EXPECT_TRUE(has(text, "\nOperators by time\n")) << text;
  EXPECT_TRUE(has(text, "step > wait for communication  4.6 ms   25 ms      +20 ms\n")) << text;
  EXPECT_TRUE(has(text, "  1. Rank 2 (b2) is slower than all others (up to 18 % of the time)\n")) << text;
  EXPECT_TRUE(has(text, "     set     comm.fusion_bytes=128MiB, as a flag --comm-fusion-bytes 128MiB\n")) << text;
  EXPECT_TRUE(has(text, "  $ ronde bench roofline --hosts b1,b2\n")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_TRUE(has(text_report(sample_report(), true), "\033[31mPOOR\033[0m  Of what"));
}

TEST(TextReport, FitsATerminal) {
  const std::string text = text_report(sample_report(), false);
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(display_width(std::string(line)), 90U) << line;
}

TEST(TextReport, OfManyRanksThreeAreShown) {
  Report report = sample_report();
  for (int rank = 4; rank < 64; ++rank) {
    report.steps.ranks.push_back(report.steps.ranks[0]);
    report.steps.ranks.back().rank = rank;
  }
  report.steps.ranks[40].all.compute = 0.1;
  const std::string text = text_report(report, false);
  EXPECT_TRUE(has(text, "most work")) << text;
  EXPECT_TRUE(has(text, "    40  b1")) << text;
  EXPECT_FALSE(has(text, "\n    50  b1")) << text;
}

TEST(TextReport, PartsThatAreMissingAreLeftOut) {
  EXPECT_EQ(text_report({.job = {.recipe = "demo"}}, false),
            "\nrecipe demo, in 0 s\n\nWhat to change\n  Nothing: no rule found a loss worth fixing.\n");
  EXPECT_EQ(guide_text({}, false), "\n");
}

TEST(TextReport, NumbersThatAreNotFiniteAreUnknown) {
  Report report = sample_report();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN(), kEndless = std::numeric_limits<double>::infinity();
  report.tree.value = kNone;
  report.scaling->runs[2].speedup = kEndless;
  report.scaling->runs[2].efficiency = kNone;
  report.steps.ranks[0].all.total = kNone;
  const std::string text = text_report(report, false);
  EXPECT_TRUE(has(text, "  runs/r4      4    256  2560 samples/s         -           -\n")) << text;
  EXPECT_TRUE(has(text, "     0  b1         -        -")) << text;
  EXPECT_FALSE(has(text, "nan") || has(text, "inf ")) << text;
}

TEST(TextReport, AHealthyRunNeedsNoChange) {
  Report report = sample_report();
  report.advice.clear();
  EXPECT_TRUE(has(text_report(report, false), "Nothing: no rule found a loss"));
}

TEST(GuideText, SaysWhereTheRunStands) {
  const std::string guide = guide_text(sample_report(), false);
  EXPECT_TRUE(has(guide, "\n1. compute  (done)\n   On synthetic")) << guide;
  EXPECT_TRUE(has(guide, "\n3. communication  <- here\n   Communication and load cost 27 %")) << guide;
  EXPECT_TRUE(has(guide, "\n   $ ronde bench roofline --hosts b1,b2\n\n4. scale\n   More ranks")) << guide;
}

TEST(TextParts, WordsAreWrappedAndNeverCut) {
  const std::string text = detail::wrapped(std::string(100, 'a') + " bb " + std::string(80, 'c'), "  - ");
  EXPECT_EQ(text, "  - " + std::string(100, 'a') + "\n    bb " + std::string(80, 'c') + "\n");
  EXPECT_EQ(detail::wrapped("", "> "), "> \n");
}

TEST(TextParts, NumbersThatCannotBeAreUnknown) {
  EXPECT_EQ(detail::duration(1e300), "-");
  EXPECT_EQ(detail::duration({}), "-");
  EXPECT_EQ(detail::duration(0.0021), "2.1 ms");
  EXPECT_EQ(detail::percent(0.8393, 1), "83.9 %");
  EXPECT_EQ(detail::bar(0.5, 4), "██░░");
  EXPECT_EQ(detail::bar(7, 2), "██");
  EXPECT_EQ(detail::shortened("äöüß", 3), "äö…");
  EXPECT_EQ(detail::percent(std::nan("")), "-");
  EXPECT_EQ(detail::known(0), std::nullopt);
}

}  // namespace
}  // namespace ronde::report
