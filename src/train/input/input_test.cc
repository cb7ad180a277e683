#include "ronde/train/input/input.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"

namespace ronde::train {
namespace {

using namespace std::chrono_literals;
using data::StageStats;

TEST(Input, SaysWhichStageLimitsAndWhatToDo) {
  const StageStats reading{.name = "read", .busy = 990ms, .input = 10ms},
      idle{.name = "read", .busy = 10ms, .room = 990ms};
  const StageStats decoding{.name = "decode", .busy = 990ms, .input = 10ms},
      hungry{.name = "decode", .busy = 100ms, .input = 900ms};
  EXPECT_NE(why_input_waits({reading, hungry}).find("reading is the limit"), std::string::npos);
  EXPECT_NE(why_input_waits({idle, decoding}).find("'decode' is the limit: more data.threads"), std::string::npos);
  EXPECT_NE(why_input_waits({idle, hungry}).find("data.prefetch"), std::string::npos);
}

std::vector<std::string_view> steps_of(const TrainingOptions& options, const data::Source& samples) {
  const data::Dataset dataset = training_data(options, samples, 7, 0, 2);
  std::vector<std::string_view> names;
  for (const data::Step& step : dataset.steps()) names.push_back(data::name(step));
  return names;
}

TEST(Input, ATrainingIsADatasetWithSteps) {
  using Names = std::vector<std::string_view>;
  const auto glyphs = data::open_source({.samples = 10});
  TrainingOptions options;
  EXPECT_EQ(steps_of(options, *glyphs), (Names{"map", "shuffle", "batch", "shard", "repeat", "prefetch"}));
  options.data.shuffle = "chunks";  // of files, which these are not
  EXPECT_EQ(steps_of(options, *glyphs), (Names{"map", "shuffle", "batch", "shard", "repeat", "prefetch"}));
  options.data.shuffle = "off";
  EXPECT_EQ(steps_of(options, *glyphs), (Names{"map", "batch", "shard", "repeat", "prefetch"}));

  const ronde::tests::Folder folder;
  const auto path = std::filesystem::path(folder.path()) / "a.csv";
  std::ofstream(path) << "x,class\n1,0\n2,1\n";
  const auto table = data::open_source({.name = "csv", .path = path.string()});
  options.data.shuffle = "chunks";
  options.data.window = 5;
  EXPECT_EQ(steps_of(options, *table),
            (Names{"select", "random_seed", "map", "shuffle_chunks", "batch", "shard", "repeat", "prefetch"}));
  const auto steps = training_data(options, *table, 7, 0, 2).steps();
  EXPECT_EQ(std::get<data::steps::ShuffleChunks>(steps[3]).window, 5);
}

}  // namespace
}  // namespace ronde::train
