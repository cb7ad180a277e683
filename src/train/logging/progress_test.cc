#include "ronde/train/logging/progress.h"

#include <vector>

#include <stdio.h>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"

#include "ronde/base/text/table.h"

namespace ronde::train {
namespace {

using namespace std::chrono_literals;
using data::Target;

ProgressFacts some_facts() {
  return {.epoch = 2,
          .epochs = 10,
          .step = 121,
          .steps = 194,
          .results = results_of(Score{.loss = 43.12, .samples = 100, .top1 = 91, .top5 = 99}, Target::Class),
          .rates = {.samples_per_second = 12345, .input_share = 0.02, .comm_share = 0.11},
          .left = 80s};
}

TEST(ProgressBar, TellsMoreTheMoreRoomThereIs) {
  const ProgressFacts facts = some_facts();
  EXPECT_EQ(progress_bar(facts, 130),
            "epoch 3/10 ██████████████████▋───────────  62%  loss 0.431  accuracy 91.0%  12.3k samples/s  ETA 1:20  "
            "waiting: input 2%  comm 11%");
  EXPECT_EQ(progress_bar(facts, 79), "epoch 3/10 ██▍─  62%  loss 0.431  acc 91.0%  12.3k/s  ETA 1:20  in 2%  comm 11%");
  EXPECT_EQ(progress_bar(facts, 39), "epoch 3/10  62%  loss 0.431  acc 91.0%");
  EXPECT_EQ(progress_bar(facts, 15), "epoch 3/10  62%");
  EXPECT_EQ(progress_bar(facts, 5), " 62%");
}

TEST(ProgressBar, IsNeverWiderThanTheTerminal) {
  ProgressFacts facts = some_facts();
  for (const std::int64_t steps : {0, 1, 121, 194, 1'000'000}) {
    facts.steps = steps;
    for (const double scale : {0.0, 1.0, 1e9}) {
      facts.results.loss = 0.4312 * scale;
      facts.rates.samples_per_second = 3.3 * scale;
      facts.left = 30h * (steps + 1);
      for (std::size_t width = 0; width < 200; ++width)
        EXPECT_LE(display_width(progress_bar(facts, width)), width) << progress_bar(facts, width);
    }
  }
}

TEST(ProgressLine, IsPlainText) {
  EXPECT_EQ(
      progress_line(some_facts()),
      "epoch 3/10  step 121/194  loss 0.431  accuracy 91.0%  12.3k samples/s  ETA 1:20  waiting: input 2%  comm 11%");
  ProgressFacts first;
  first.steps = 10;
  first.results = results_of(Score{}, Target::Class);
  EXPECT_EQ(progress_line(first),
            "epoch 1/1  step 0/10  loss 0.000  accuracy 0.0%  0.00 samples/s  waiting: input 0%  comm 0%");
}

TEST(EpochLine, TellsOfTheTestWhereThereWasOne) {
  EpochFacts facts{.epoch = 0,
                   .epochs = 2,
                   .train = results_of(Score{.loss = 50, .samples = 100, .top1 = 80}, Target::Class),
                   .time = 32s,
                   .rates = {.samples_per_second = 812.3}};
  EXPECT_EQ(epoch_line(facts), "epoch 1/2: loss 0.5000, accuracy 80.00%; 32 s, 812 samples/s");
  facts.held_out = results_of(Score{.loss = 40, .samples = 100, .top1 = 85}, Target::Class);
  EXPECT_EQ(epoch_line(facts),
            "epoch 1/2: loss 0.5000, accuracy 80.00%; test loss 0.4000, accuracy 85.00%; 32 s, 812 samples/s");
  facts.held_out_name = "validation";
  EXPECT_NE(epoch_line(facts).find("; validation loss 0.4000, accuracy 85.00%; "), std::string::npos);
}

TEST(ProgressLine, TellsWhatFitsTheTask) {
  ProgressFacts facts;
  const Score score{.loss = 2, .samples = 4, .hits = 3, .falses = 1, .misses = 1};
  facts.results = results_of(score, Target::Labels);
  EXPECT_NE(progress_line(facts).find("  loss 0.500  F1 0.750  "), std::string::npos) << progress_line(facts);
  facts.results = results_of(score, Target::Mask);
  EXPECT_NE(progress_line(facts).find("  loss 0.500  pixel accuracy 75.0%  "), std::string::npos);
  EXPECT_NE(progress_bar(facts, 70).find("  loss 0.500  pix 75.0%  "), std::string::npos);
  facts.results = results_of(score, Target::Input);
  EXPECT_NE(progress_line(facts).find("  loss 0.500  MSE 0.500  "), std::string::npos);
}

TEST(SummaryText, IsATableOfWhatIsKnown) {
  Summary summary{.ranks = 2,
                  .epochs = 3,
                  .steps = 1500,
                  .samples = 96000,
                  .time = 61s,
                  .train = results_of(Score{.loss = 10, .samples = 100, .top1 = 97, .top5 = 100}, Target::Class),
                  .rates = {.samples_per_second = 1573.7, .input_share = 0.011, .comm_share = 0.052}};
  EXPECT_EQ(summary_text(summary),
            "training                   result\n"
            "time                       1 min 1 s\n"
            "steps                      1,500 in 3 epochs, 96,000 samples\n"
            "samples/s                  1574 on 2 ranks\n"
            "waiting for input          1.1%\n"
            "waiting for communication  5.2%\n"
            "training loss              0.1000\n"
            "training accuracy          97.00% (top 5: 100.00%)\n");
  summary.validation = results_of(Score{.loss = 30, .samples = 100, .top1 = 94, .top5 = 99}, Target::Class);
  summary.test = results_of(Score{.loss = 20, .samples = 100, .top1 = 95, .top5 = 99}, Target::Class);
  summary.efficiency = 0.953;
  summary.target_accuracy = 0.95;
  summary.places = {{"log", "out/log.jsonl"}};
  const std::string all = summary_text(summary);
  EXPECT_NE(all.find("\nscaling efficiency         95.3% of one rank\n"), std::string::npos) << all;
  EXPECT_NE(all.find("\ntest accuracy              95.00% (top 5: 99.00%)\n"), std::string::npos);
  EXPECT_NE(all.find("\nvalidation accuracy        94.00% (top 5: 99.00%)\n"), std::string::npos);
  EXPECT_NE(all.find("\ntime to 95.0%              not reached\n"), std::string::npos);
  EXPECT_NE(all.find("\nlog                        out/log.jsonl\n"), std::string::npos);
  summary.time_to_target_accuracy = 42s;
  EXPECT_NE(summary_text(summary).find("\ntime to 95.0%              42 s\n"), std::string::npos);
  summary.validation = results_of(Score{.loss = 3, .samples = 100}, Target::Input);
  EXPECT_NE(summary_text(summary).find("\ntime to MSE 0.950          42 s\n"), std::string::npos);
}

TEST(StepsLeft, AreThoseOfTheEpochsOrOfTrainSteps) {
  EXPECT_EQ(steps_left(30, 100, 0), 70);
  EXPECT_EQ(steps_left(30, 100, 50), 20) << "train.steps ends it";
  EXPECT_EQ(steps_left(30, 100, 500), 70) << "the epochs are over before";
  EXPECT_EQ(steps_left(60, 100, 50), 0);
  EXPECT_EQ(steps_left(100, 100, 0), 0);
}

TEST(Texts, AreShort) {
  EXPECT_EQ(clock_text(0s), "0:00");
  EXPECT_EQ(clock_text(59'600ms), "1:00");
  EXPECT_EQ(clock_text(7384s), "2:03:04");
  EXPECT_EQ(clock_text(76h), "3d 4h");
  EXPECT_EQ(rate_text(8.25), "8.25");
  EXPECT_EQ(rate_text(9.996), "10.0");
  EXPECT_EQ(rate_text(812.3), "812");
  EXPECT_EQ(rate_text(9999.6), "10.0k");
  EXPECT_EQ(rate_text(1.23e6), "1.2M");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(Pace, FollowsTheLastSeconds) {
  Pace pace(10s);
  EXPECT_EQ(pace.rates().samples_per_second, 0);
  EXPECT_EQ(pace.time_for(100), 0ns);
  for (int second = 0; second <= 60; ++second)  // 100 a second, a tenth of the time waiting for input
    pace.add({.at = second * 1s, .samples = 100 * second, .waited_input = second * 100ms});
  EXPECT_NEAR(pace.rates().samples_per_second, 100, 1e-9);
  EXPECT_NEAR(pace.rates().input_share, 0.1, 1e-9);
  EXPECT_EQ(pace.time_for(1000), 10s);
  for (int second = 1; second <= 12; ++second)  // then 10 a second
    pace.add({.at = 60s + second * 1s, .samples = 6000 + 10 * second, .waited_comm = second * 500ms});
  EXPECT_NEAR(pace.rates().samples_per_second, 10, 1e-9);
  EXPECT_NEAR(pace.rates().comm_share, 0.5, 1e-9);
}

TEST(Pace, ManyMilestonesASecondChangeNothing) {
  Pace pace(10s);
  for (int i = 0; i <= 100'000; ++i) pace.add({.at = i * 1ms, .samples = i});
  EXPECT_NEAR(pace.rates().samples_per_second, 1000, 1e-6);
}

// What a progress with this clock writes into a file.
struct Written {
  explicit Written(bool terminal) : progress({.file = stream, .terminal = terminal, .clock = [this] { return now; }}) {}
  ~Written() { std::fclose(stream); }
  std::string text() {
    std::fflush(stream);
    return {memory, size};
  }
  std::chrono::nanoseconds now{100s};
  char* memory = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&memory, &size);
  Progress progress;
};

TEST(Progress, ALineComesEveryFiveSecondsAndAfterEachEpoch) {
  Written out(false);
  EXPECT_FALSE(out.progress.due());
  out.now += 5s;
  EXPECT_TRUE(out.progress.due());
  out.progress.show(some_facts());
  EXPECT_FALSE(out.progress.due());
  out.progress.show(EpochFacts{.epochs = 2});
  EXPECT_EQ(out.text(), fmt::format("{}\n{}\n", progress_line(some_facts()), epoch_line({.epochs = 2})));
}

TEST(Progress, ABarIsDrawnOverTheOneBefore) {
  Written out(true);
  EXPECT_TRUE(out.progress.due()) << "at once";
  out.progress.show(some_facts());
  EXPECT_FALSE(out.progress.due());
  out.now += 99ms;
  EXPECT_FALSE(out.progress.due()) << "ten times a second at most";
  out.now += 1ms;
  EXPECT_TRUE(out.progress.due());
  const std::string bar = fmt::format("\r{}\x1b[K", progress_bar(some_facts(), 79));
  out.progress.show(some_facts());
  EXPECT_EQ(out.text(), bar + bar);
  out.progress.show(EpochFacts{.epochs = 2});
  EXPECT_EQ(out.text(), fmt::format("{}{}\r\x1b[K{}\n", bar, bar, epoch_line({.epochs = 2})));
  out.progress.clear();
  EXPECT_EQ(out.text(), fmt::format("{}{}\r\x1b[K{}\n", bar, bar, epoch_line({.epochs = 2})))
      << "there is no bar to take away";
}

}  // namespace
}  // namespace ronde::train
