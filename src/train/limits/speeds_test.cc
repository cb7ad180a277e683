#include "ronde/train/limits/speeds.h"
#include "ronde/base/settings/settings.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"

namespace ronde::train {
namespace {

TEST(Speeds, OnlyWhatChangesTheWorkCounts) {
  Settings settings;
  const std::string work = Speeds::work_of(settings, "Some CPU", 2);
  settings.set("train.epochs", "7", "test");
  settings.set("output.dir", "elsewhere", "test");
  settings.set("train.batch", "7", "test");
  EXPECT_EQ(Speeds::work_of(settings, "Some CPU", 2), work);
  EXPECT_NE(Speeds::work_of(settings, "Some CPU", 1), work);
  EXPECT_NE(Speeds::work_of(settings, "Other CPU", 2), work);
  settings.set("model.name", "mlp", "test");
  EXPECT_NE(Speeds::work_of(settings, "Some CPU", 2), work);
}

TEST(Speeds, TheSameBatchFirstThenTheSameShare) {
  Speeds speeds;
  EXPECT_EQ(speeds.efficiency("w", 64, 2, 150), std::nullopt);
  speeds.note("w", 32, 80);
  EXPECT_EQ(speeds.efficiency("w", 64, 2, 150), 150.0 / 160);
  speeds.note("w", 64, 100);
  EXPECT_EQ(speeds.efficiency("w", 64, 2, 150), 0.75);
  EXPECT_EQ(speeds.efficiency("v", 64, 2, 150), std::nullopt);
}

TEST(Speeds, ComeBackFromAFile) {
  const ronde::tests::Folder folder;
  const auto file = folder.path() / "a" / "speeds.json";
  EXPECT_EQ(load_speeds(file).text(), Speeds().text());
  Speeds speeds;
  speeds.note("model.name=mlp \"x\"", 64, 812.5);
  speeds.note("other", 8, 3);
  save_speeds(file, speeds);
  EXPECT_EQ(load_speeds(file).text(), speeds.text());
  EXPECT_EQ(load_speeds(file).efficiency("other", 8, 4, 6), 0.5);
}

TEST(Speeds, GarbageHoldsNone) {
  for (const char* text : {"", "{", "[]", "7", R"({"w": 3})", R"({"w": {"x": 3}})", R"({"w": {"8": "fast"}})",
                           R"({"w": {"8": 0}})", R"({"w": {"8": -1}})"})
    EXPECT_EQ(Speeds::parse(text).efficiency("w", 8, 1, 1), std::nullopt) << text;
}

TEST(Speeds, AFolderThatCannotBeMadeIsNoError) {
  const ronde::tests::Folder folder;
  std::ofstream(folder.path() / "file") << "x";
  save_speeds(folder.path() / "file" / "speeds.json", Speeds());
}

}  // namespace
}  // namespace ronde::train
