#include "ronde/train/plugin/load_plugins.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::train {
namespace {

std::string failure(const std::string& files) {
  Settings settings;
  settings.set("plugin", files, "test");
  try {
    with_plugins(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "";
}

TEST(Plugins, TheBuildIsReadFromTheFile) {
  EXPECT_EQ(build_in(std::string_view("\x7f"
                                      "ELF\0ronde plugin built with: ronde 1.2, libtorch 3\0more",
                                      56)),
            "ronde 1.2, libtorch 3");
  EXPECT_EQ(build_in("ronde plugin built with: to the end"), "to the end");
  EXPECT_EQ(build_in("something else"), std::nullopt);
  EXPECT_TRUE(plugin_build().starts_with("ronde 0.")) << plugin_build();
}

TEST(Plugins, WhatIsNoneIsRefusedBeforeItIsLoaded) {
  const ronde::tests::Folder folder;
  const std::string file = folder.text() + "/libmine.so";
  EXPECT_EQ(failure(file), "plugin " + file + " does not exist");
  std::ofstream(file) << "no library";
  EXPECT_EQ(failure(file), file + " is not a plugin of Ronde: it has none of the macros of ronde/train/plugin.h");
  std::ofstream(file) << "ronde plugin built with: ronde 0.0.1 (old), libtorch 2.6.0";
  EXPECT_EQ(failure(file), "plugin " + file + " was built with ronde 0.0.1 (old), libtorch 2.6.0, but this is " +
                               plugin_build() + ": build it again");
}

TEST(Plugins, WithoutAnyTheRegistryIsThatOfTheProgram) {
  auto own = std::make_shared<Registry>();
  own->augmentations.push_back({.name = "noise", .apply = [](auto&, auto&, auto&) {}});
  EXPECT_EQ(with_plugins({}, own)->augmentations.size(), 1u);
  EXPECT_TRUE(with_plugins({})->models.empty());
}

}  // namespace
}  // namespace ronde::train
