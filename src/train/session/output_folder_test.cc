#include "ronde/train/session/output_folder.h"
#include "ronde/base/settings/settings.h"

#include <gtest/gtest.h>

#include "ronde/train/recipes.h"

namespace ronde::train {
namespace {

Settings settings_of(const Settings::Recipe& recipe, const std::string& folder = "") {
  const std::vector<Settings::Flag> flags{{"output.dir", folder, "--output-dir"}};
  return Settings::load(Environment({}), std::span(flags), recipe);
}

TEST(OutputFolder, CarriesTheNameOfTheRecipe) {
  EXPECT_EQ(output_folder(settings_of(find_recipe("cifar10-quick"))), "ronde-output/cifar10-quick");
  EXPECT_EQ(output_folder(settings_of({.text = "", .name = "mine.toml"})), "ronde-output/mine");
  EXPECT_EQ(output_folder(settings_of({.text = "", .name = "/home/me/runs.v2/mine.v3.toml"})), "ronde-output/mine.v3");
}

TEST(OutputFolder, IsTheOneThatWasAskedFor) {
  EXPECT_EQ(output_folder(settings_of(find_recipe("mnist"), "here")), "here");
}

TEST(OutputFolder, OfSettingsWithoutARecipe) {
  EXPECT_EQ(output_folder(Settings()), "ronde-output");
}

}  // namespace
}  // namespace ronde::train
