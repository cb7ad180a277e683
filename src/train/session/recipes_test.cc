#include "ronde/train/recipes.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

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

TEST(Recipes, BeginFromAnother) {
  const ronde::tests::Folder folder;
  const auto write = [&](const char* name, const std::string& text) {
    const auto file = folder.path() / name;
    std::ofstream(file) << text;
    return file.string();
  };
  write("base.toml", "extends = \"demo\"\ntrain.epochs = 7\ntrain.batch = 48\n");
  const auto recipe = find_recipe(write("mine.toml", "extends = \"base.toml\"\n[train]\nbatch = 16\n"));
  const auto settings = Settings::load(Environment({}), std::span<const Settings::Flag>(), recipe);
  EXPECT_EQ(settings.get<"train.batch">(), 16);
  EXPECT_EQ(settings.get<"train.epochs">(), 7) << "of the file beside it";
  EXPECT_EQ(settings.get<"model.name">(), "resnet20") << "of the built-in one";
  EXPECT_EQ(recipe_name(settings), "mine");
  EXPECT_EQ(settings.recipes().size(), 3u);

  const auto failure = [](const std::string& file) -> std::string {
    try {
      find_recipe(file);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  write("a.toml", "extends = \"b.toml\"\n");
  EXPECT_NE(failure(write("b.toml", "extends = \"a.toml\"\n")).find("which begins from it again"), std::string::npos);
  EXPECT_NE(failure(write("c.toml", "extends = \"dem\"\n")).find("did you mean demo?"), std::string::npos);
  EXPECT_NE(failure(write("d.toml", "extends = [1]\n")).find("d.toml:1: 'extends' must be a string"),
            std::string::npos);
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
