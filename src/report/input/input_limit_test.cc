#include "ronde/report/input/input_limit.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/make_run.h"

namespace ronde::report {
namespace {

using testing::MakeRun;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr const char* kStages =
    R"([{"name":"read","busy_s":1,"waiting_input_s":0,"waiting_room_s":9,"items":400,"bytes":4000,"threads":1},
        {"name":"decode","busy_s":18,"waiting_input_s":1,"waiting_room_s":1,"items":400,"bytes":9000,"threads":2},
        {"name":"batch","busy_s":1,"waiting_input_s":8,"waiting_room_s":1,"items":4,"threads":1},
        {"skipped":3}])";

// Two ranks, four steps of 2.5 s; training waits for input in the first second of each.
MakeRun waiting_run() {
  MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank)
    for (std::int64_t step = 0; step < 4; ++step) {
      const std::int64_t begin = step * kSecond * 5 / 2;
      make.step(rank, step, begin, begin + kSecond * 5 / 2);
      make.span(rank, "training", "wait for input", begin, begin + kSecond);
      make.span(rank, "training", "forward", begin + kSecond, begin + kSecond * 5 / 2);
    }
  return make;
}

InputLimit limit_of(const trace::Run& run, const JobFacts& facts = {.batch = 100}) {
  std::vector<std::string> problems;
  const auto limit = input_limit_of(run, window_of(run), facts, 6, problems);
  EXPECT_TRUE(limit && problems.empty());
  return limit.value_or(InputLimit{});
}

TEST(InputLimit, NamesTheBusiestStageAndWhatAFreeInputWouldGive) {
  MakeRun make = waiting_run();
  make.metadata(0, "input stages", kStages);
  make.metadata(1, "input stages", kStages);
  const InputLimit input = limit_of(make.take());
  EXPECT_EQ(input.limit, "decode");
  EXPECT_DOUBLE_EQ(input.waiting_share, 0.4);      // 4 s of 10
  EXPECT_DOUBLE_EQ(input.samples_per_second, 40);  // 4 x 100 in 10 s
  EXPECT_DOUBLE_EQ(input.ceiling_samples_per_second, 400.0 / 6);
  ASSERT_EQ(input.stages.size(), 3u);
  EXPECT_DOUBLE_EQ(input.stages[1].busy, 36);
  EXPECT_DOUBLE_EQ(input.stages[1].busy_share(), 0.9);
  EXPECT_EQ(input.stages[1].threads, 2);
  EXPECT_NEAR(input.stages[1].items_per_second, 2 * 400.0 * 2 / 18, 1e-9);  // a rank: 400 in 18 s of 2 threads
  EXPECT_EQ(input.text,
            "Training waits for input 40 % of the time; 'decode' is the limit: its threads (2 per rank) are busy 90 % "
            "of the time; with free input it would reach 67 samples/s instead of 40.");
}

TEST(InputLimit, RowsOfStagesDoWhereARankSaysNothing) {
  MakeRun make = waiting_run();
  for (int rank = 0; rank < 2; ++rank)
    for (std::int64_t i = 0; i < 10; ++i) {
      make.span(rank, "input read", "read", i * kSecond, i * kSecond + kSecond / 10, "input");
      make.span(rank, "input read", "wait for room", i * kSecond + kSecond / 10, (i + 1) * kSecond, "input");
      make.span(rank, "input augment", "augment", i * kSecond, i * kSecond + kSecond * 8 / 10, "input");
    }
  const InputLimit input = limit_of(make.take());
  EXPECT_EQ(input.limit, "augment");
  ASSERT_EQ(input.stages.size(), 2u);
  EXPECT_NEAR(input.stages[0].waiting_room, 2 * 9, 1e-9);
  EXPECT_NEAR(input.stages[0].waiting_input, 0, 1e-9);
  EXPECT_NEAR(input.stages[1].busy, 2 * 8, 1e-9);
  EXPECT_NEAR(input.stages[1].waiting_input, 2 * 9 * 0.2, 1e-9);  // between the first and the last of ten
  EXPECT_NEAR(input.stages[1].items_per_second, 2 * 10 / 8.0, 1e-9);
}

TEST(InputLimit, QueuesTellWhereNothingElseDoes) {
  MakeRun make = waiting_run();
  for (const auto& [name, ready] : {std::pair("read ready", 3.0), {"decode ready", 0.0}, {"batch ready", 0.0}}) {
    make.counter(0, name, 0, ready);
    make.counter(0, name, 9 * kSecond, name == std::string("decode ready") ? 1 : ready);
    make.counter(0, name, 10 * kSecond, ready);
  }
  const InputLimit input = limit_of(make.take());
  ASSERT_EQ(input.stages.size(), 3u);
  EXPECT_DOUBLE_EQ(*input.stages[0].occupancy, 1);
  EXPECT_DOUBLE_EQ(*input.stages[1].occupancy, 0.1);  // the last of 10 s
  EXPECT_EQ(input.limit, "decode");
}

TEST(LimitingStage, IsNoneWhenAllQueuesAreFullOrNobodyIsBusy) {
  EXPECT_EQ(limiting_stage({}), "");
  EXPECT_EQ(limiting_stage({{.name = "read", .occupancy = 0.9}, {.name = "decode", .occupancy = 0.95}}), "");
  EXPECT_EQ(limiting_stage({{.name = "read", .occupancy = 0.1}, {.name = "decode", .occupancy = 0.1}}), "read");
  EXPECT_EQ(limiting_stage({{.name = "read", .busy = 4, .waiting_input = 6}}), "");
  EXPECT_EQ(limiting_stage(
                {{.name = "read", .busy = 4, .waiting_room = 6}, {.name = "decode", .busy = 6, .waiting_room = 4}}),
            "decode");
}

TEST(InputLimit, AnInputThatKeepsUpHasNoLimit) {
  MakeRun make(1);
  make.step(0, 0, 0, 100);
  make.span(0, "training", "wait for input", 0, 1);
  make.metadata(0, "input stages", kStages);
  const InputLimit input = limit_of(make.take(), {});
  EXPECT_EQ(input.limit, "");
  EXPECT_EQ(input.text, "Input keeps up: training waits for it 1.0 % of the time.");
  const auto json = to_json(input);
  EXPECT_TRUE(json["samples_per_second"].is_null());  // no batch is known
  EXPECT_TRUE(json["stages"][0]["occupancy"].is_null());
  EXPECT_EQ(json["stages"][1]["threads"], 2);
}

TEST(InputLimit, ARunWithoutInputHasNone) {
  MakeRun make(1);
  make.span(0, "training", "work", 0, 10);
  const trace::Run run = make.take();
  std::vector<std::string> problems;
  EXPECT_FALSE(input_limit_of(run, window_of(run), {}, 0, problems));
}

TEST(InputLimit, DamagedWordsAreSaidAndDoNoHarm) {
  for (const char* text : {"{", "7", "[3]", R"([{"name":3}])", R"([{"name":"a","busy_s":"x"}])",
                           R"([{"name":"a","busy_s":-1}])", R"([{"name":"a","busy_s":1e999}])", ""}) {
    MakeRun make = waiting_run();
    make.metadata(1, "input stages", text);
    const trace::Run run = make.take();
    std::vector<std::string> problems;
    const auto input = input_limit_of(run, window_of(run), {}, 6, problems);
    ASSERT_TRUE(input);
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_NE(problems[0].find("rank 1"), std::string::npos);
    EXPECT_EQ(input->limit, "");
    EXPECT_NE(input->text.find("is not known"), std::string::npos) << input->text;
  }
}

}  // namespace
}  // namespace ronde::report
