#include "ronde/train/recipes.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

TEST(Recipes, AllThatAreBuiltInCanBeRead) {
  EXPECT_GE(recipe_names().size(), 4u);
  for (const std::string& name : recipe_names()) {
    const auto recipe = find_recipe(name);
    EXPECT_NO_THROW(Settings::load(Environment({}), std::span<const Settings::Flag>(), recipe)) << name;
    EXPECT_GT(recipe_summary(recipe).size(), 40u) << name;
  }
}

TEST(Recipes, FlagsAndVariablesComeAfter) {
  const std::vector<Settings::Flag> flags{{"train.batch", "32", "--train-batch"}};
  const auto settings = Settings::load(Environment({{"RONDE_TRAIN_EPOCHS", "9"}}), flags, find_recipe("demo"));
  EXPECT_EQ(settings.get<"train.batch">(), 32);
  EXPECT_EQ(settings.get<"train.epochs">(), 9);
  EXPECT_EQ(settings.get<"model.name">(), "resnet20");
}

TEST(Recipes, ImagenetBeginsWithTheWeightsOfGoyalEtAl) {
  const auto recipe = find_recipe("imagenet-resnet50");
  const auto settings = Settings::load(Environment({}), std::span<const Settings::Flag>(), recipe);
  EXPECT_EQ(settings.get<"model.name">(), "resnet50-goyal");
}

TEST(Recipes, AnUnknownOneNamesTheOthers) {
  try {
    find_recipe("mnits");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(error.message().find("did you mean mnist?"), std::string::npos) << error.message();
  }
}

TEST(Recipes, AWrongKeyNamesFileAndLine) {
  Settings::Recipe recipe{.text = "[train]\nepoch = 3\n", .name = "mine.toml"};
  try {
    Settings::load(Environment({}), std::span<const Settings::Flag>(), recipe);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("mine.toml:2"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("train.epochs"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace ronde::train
