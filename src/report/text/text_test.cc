#include "ronde/report/text/text.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/report/report.h"
#include "ronde/report/text/text_parts.h"

namespace ronde::report {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Factor factor(const std::string& name, double value, std::vector<Factor> children = {}) {
  return {.key = name, .name = name, .value = value, .children = std::move(children)};
}

Shares shares(double compute, double exposed) {
  return {.total = 0.8, .compute = compute, .optimizer = 0.048, .exposed = exposed, .input = 0.032, .hidden = 0.112};
}

PathTime path(const std::string& name, double seconds, double own, std::vector<PathTime> children = {}) {
  return {.name = name,
          .visits = 32,
          .inclusive = seconds,
          .exclusive = own,
          .per_rank = {0.2 * seconds, 0.3 * seconds},
          .children = std::move(children)};
}

void add_causes(Report& report) {
  report.input = InputLimit{.limit = "decode",
                            .text = "The stage decode limits: nothing is ready after it.",
                            .stages = {{.name = "read", .busy = 0.11, .items_per_second = 4210, .occupancy = 0.97},
                                       {.name = "decode", .busy = 0.74, .threads = 2}}};
  report.collectives = {.kinds = {{.name = "allreduce",
                                   .group = "world",
                                   .count = 16,
                                   .bytes = 357812544,
                                   .seconds = 0.208,
                                   .bandwidth_gb_s = 1.72,
                                   .measured_gb_s = 3.4}},
                        .text = "From the last arrival, allreduces reach 1.72 GB/s."};
  report.roofline = LayerRoofline{.text = "2 of 7 layers are bound by compute."};
  report.bottlenecks = {
      {.name = "compute", .samples_per_second = 3050, .known = true, .binds = true, .text = "Kernels."},
      {.name = "memory size", .text = "No counter of memory was recorded."}};
  report.scaling = Scaling{.text = "4 ranks are 2.65 times as fast as one.",
                           .runs = {{.run = {.source = "runs/r1", .ranks = 1, .batch = 64}},
                                    {.run = {.source = "runs/r4", .ranks = 4, .batch = 256, .samples_per_second = 2560},
                                     .speedup = 2.6508,
                                     .efficiency = 0.6627}}};
  report.phases = {.phases = {{.kind = PhaseKind::Testing, .seconds = 0.21, .share = 0.083, .ranks_busy = 1}},
                   .sequential = {.text = "One rank works while the others wait in 8 % of the time."}};
  report.profile = {.ranks = {0, 1, 2, 3},
                    .tree = {path("step", 3.184, 0, {path("forward", 0.688, 0.028), path("sum", 0.001, 0.001)})}};
  report.operators = {{.name = "aten::conv2d", .category = "operator", .visits = 256, .seconds = 0.41, .share = 0.27}};
  report.compare = Comparison{.first = "runs/r2",
                              .second = "runs/r4",
                              .paths = {{.path = "step > wait for communication", .first = 0.0046, .second = 0.025},
                                        {.path = "step > optimizer", .first = 0.0061, .second = 0.006}}};
}

// A report with all that there can be.
Report sample() {
  Report report{
      .source = "runs/r4",
      .verdict = {.state = Verdict::State::Poor,
                  .text =
                      "Of what these 4 ranks could do, 66 % is left: most is lost to load balance, as rank 2 (b2) has "
                      "27 % more work than the others in every step."},
      .problems =
          {"runs/r4/rank3.pftrace ends in the middle of a packet at byte 91824: what is before it is reported."},
      .job = {.recipe = "cifar-resnet",
              .network = "resnet18",
              .data = "cifar10",
              .precision = "f32",
              .device = "cuda",
              .batch = 256,
              .nodes = 2},
      .ranks = 4,
      .window = {.time = {0, 800'000'000}, .first_step = 100, .last_step = 107, .steps = 8},
      .tree = factor("global efficiency", 0.6627,
                     {factor("load balance", 0.8393), factor("communication", 0.84, {factor("transfer", 0.84)}),
                      factor("input", 0.96)}),
      .device_tree = factor("device efficiency", 0.678),
      .devices = {{.rank = 2, .host = "b2", .seconds = 0.8, .busy = 0.707, .computing = 0.646, .copies = 0.04}},
      .steps = {.ranks = {{.rank = 0, .host = "b1", .all = shares(0.48, 0.236)},
                          {.rank = 1, .host = "b1", .all = shares(0.48, 0.236)},
                          {.rank = 2, .host = "b2", .all = shares(0.624, 0.092)}},
                .median_seconds = 0.1,
                .slow = {.text = "Rank 2 (b2) is the slowest in all of 8 steps."}},
      .guide = {{.stage = "compute", .state = GuideStage::State::Done, .text = "One rank does 966 samples a second."},
                {.stage = "communication",
                 .state = GuideStage::State::Here,
                 .text = "Find out why rank 2 is slower.",
                 .command = "ronde bench roofline --hosts b1,b2"},
                {.stage = "scale", .text = "More ranks once four are above 80 %."}},
      .advice = {
          {.title = "Rank 2 (b2) is slower than all others",
           .evidence = "In 8 of 8 steps it has most work, 84 ms where the others have 66 ms, with the same number of "
                       "samples.",
           .change = "Compare the clock of b2 with that of b1, or leave b2 out.",
           .gain = 0.18},
          {.title = "Gradients take half of the network's speed",
           .change = "Let more of them go together.",
           .setting = "comm.fusion_bytes=128MiB"}}};
  add_causes(report);
  return report;
}

TEST(TextReport, SaysWhatTheReportSays) {
  const std::string text = text_report(sample(), false);
  EXPECT_TRUE(text.starts_with("POOR  Of what these 4 ranks could do, 66 % is left")) << text;
  EXPECT_TRUE(has(text, "! runs/r4/rank3.pftrace ends in the middle of a packet")) << text;
  EXPECT_TRUE(has(text,
                  "runs/r4: recipe cifar-resnet, resnet18, on cifar10, f32, batch 256, 4 ranks, 2 nodes,\n"
                  "cuda, 8 steps (100 to 107), in 800 ms\n"))
      << text;
  EXPECT_TRUE(has(text, "  load balance       83.9 %  █████████████████████████░░░░░  most is lost here\n")) << text;
  EXPECT_TRUE(has(text, "Efficiency of the devices\n  device efficiency    67.8 %")) << text;
  EXPECT_TRUE(has(text, "   2  b2    800 ms     78 %        6 %     12 %    4 %   0 %    14 %\n")) << text;
  EXPECT_TRUE(has(text, "     2  b2    88 %       81 %          0 %     5 %  12 %\n")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_TRUE(has(text_report(sample(), true), "\033[31mPOOR\033[0m  Of what"));
}

TEST(TextReport, SaysWhy) {
  const std::string text = text_report(sample(), false);
  EXPECT_TRUE(has(text, "  decode        2  740 ms      0 s      0 s              -      -  limits\n")) << text;
  EXPECT_TRUE(has(text, "  allreduce  world     16  341 MiB  208 ms  1.72 GB/s        3.4 GB/s\n")) << text;
  EXPECT_TRUE(has(text, "\nRoofline\n  2 of 7")) << text;
  EXPECT_TRUE(has(text, "\nBottlenecks\n  Kernels.\n")) << text;
  EXPECT_TRUE(has(text, "  compute      3050 samples/s  binds\n  memory size       not known\n")) << text;
  EXPECT_TRUE(has(text, "  runs/r4      4    256  2560 samples/s      2.65        66 %\n")) << text;
  EXPECT_TRUE(has(text, "  testing  210 ms    8 %            1.0        0 s\n")) << text;
  EXPECT_TRUE(has(text, "  step           3.2 s  100 %        0 s      32           637 ms  955 ms\n")) << text;
  EXPECT_FALSE(has(text, "    sum ")) << "under a hundredth of the time";
  EXPECT_TRUE(has(text, "\nOperators by time\n")) << text;
  EXPECT_TRUE(has(text, "step > wait for communication  4.6 ms   25 ms      +20 ms\n")) << text;
  EXPECT_TRUE(has(text, "step > optimizer               6.1 ms    6 ms     -100 us\n")) << text;
}

TEST(TextReport, SaysWhatToDo) {
  const std::string text = text_report(sample(), false);
  EXPECT_TRUE(has(text, "  1. Rank 2 (b2) is slower than all others (up to 18 % of the time)\n")) << text;
  EXPECT_TRUE(has(text, "     set     comm.fusion_bytes=128MiB, as a flag --comm-fusion-bytes 128MiB\n")) << text;
  EXPECT_TRUE(has(text, "\nNext: communication\n  Find out")) << text;
  EXPECT_TRUE(has(text, "  $ ronde bench roofline --hosts b1,b2\n")) << text;
  const std::string guide = guide_text(sample(), false);
  EXPECT_TRUE(has(guide, "\n1. compute  (done)\n   One rank")) << guide;
  EXPECT_TRUE(has(guide, "\n2. communication  <- here\n   Find out why rank 2 is slower.\n   $ ronde bench")) << guide;
  EXPECT_TRUE(has(guide, "\n3. scale\n   More ranks")) << guide;
}

TEST(TextReport, FitsATerminal) {
  const std::string text = text_report(sample(), false);
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(display_width(std::string(line)), 90U) << line;
}

TEST(TextReport, OfManyRanksThreeAreShown) {
  Report report = sample();
  for (int rank = 3; rank < 64; ++rank) {
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
  const std::string text = text_report({.job = {.recipe = "demo"}}, false);
  EXPECT_EQ(text,
            "\nrecipe demo, in 0 s\n"
            "\nWhat to change\n  Nothing: no rule found a loss worth fixing.\n");
  EXPECT_EQ(guide_text({}, false), "\n");
}

TEST(TextReport, NumbersThatAreNotFiniteAreUnknown) {
  Report report = sample();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN(), kEndless = std::numeric_limits<double>::infinity();
  report.tree.value = kNone;
  report.scaling->runs[1].speedup = kEndless;
  report.scaling->runs[1].efficiency = kNone;
  report.steps.ranks[0].all.total = kNone;
  const std::string text = text_report(report, false);
  EXPECT_TRUE(has(text, "  runs/r4      4    256  2560 samples/s         -           -\n")) << text;
  EXPECT_TRUE(has(text, "     0  b1         -        -")) << text;
  EXPECT_FALSE(has(text, "nan") || has(text, "inf ")) << text;
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
  EXPECT_EQ(detail::percent(std::nan("")), "-");
  EXPECT_EQ(detail::known(0), std::nullopt);
  EXPECT_EQ(detail::bar(0.5, 4), "██░░");
  EXPECT_EQ(detail::bar(7, 2), "██");
  EXPECT_EQ(detail::shortened("äöüß", 3), "äö…");
}

}  // namespace
}  // namespace ronde::report
