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

std::vector<std::string_view> steps_of(const Settings& settings, const data::Source& samples) {
  std::vector<std::string_view> names;
  for (const data::Step& step : training_data(settings, samples, 7, 0, 2).steps()) names.push_back(data::name(step));
  return names;
}

TEST(Input, ATrainingIsADatasetWithSteps) {
  using Names = std::vector<std::string_view>;
  const auto glyphs = data::open_source({.samples = 10});
  Settings settings;
  EXPECT_EQ(steps_of(settings, *glyphs), (Names{"map", "shuffle", "batch", "shard", "repeat", "prefetch"}));
  settings.set("data.shuffle", "chunks", "test");  // of files, which these are not
  EXPECT_EQ(steps_of(settings, *glyphs), (Names{"map", "shuffle", "batch", "shard", "repeat", "prefetch"}));
  settings.set("data.shuffle", "off", "test");
  EXPECT_EQ(steps_of(settings, *glyphs), (Names{"map", "batch", "shard", "repeat", "prefetch"}));

  const ronde::tests::Folder folder;
  const auto path = std::filesystem::path(folder.path()) / "a.csv";
  std::ofstream(path) << "x,class\n1,0\n2,1\n";
  const auto table = data::open_source({.name = "csv", .path = path.string()});
  settings.set("data.shuffle", "chunks", "test");
  settings.set("data.window", "5", "test");
  EXPECT_EQ(steps_of(settings, *table),
            (Names{"select", "random_seed", "map", "shuffle_chunks", "batch", "shard", "repeat", "prefetch"}));
  const auto steps = training_data(settings, *table, 7, 0, 2).steps();
  EXPECT_EQ(std::get<data::steps::ShuffleChunks>(steps[3]).window, 5);
}

}  // namespace
}  // namespace ronde::train
