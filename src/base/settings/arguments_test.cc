#include "ronde/base/settings/arguments.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

Arguments read(std::vector<const char*> arguments) {
  return read_arguments(arguments);
}
std::string failure(std::vector<const char*> arguments) {
  try {
    read_arguments(arguments);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Arguments, SettingsInAllTheirForms) {
  const Arguments found = read(
      {"recipe.toml", "--train-epochs", "3", "--train-batch=16", "--set", "trace.dir=a=b", "--set=log.level=warn"});
  EXPECT_EQ(found.words, std::vector<std::string>{"recipe.toml"});
  std::vector<std::string> flags;
  for (const auto& flag : found.flags) flags.push_back(flag.key + "|" + flag.text + "|" + flag.origin);
  EXPECT_EQ(flags, (std::vector<std::string>{"train.epochs|3|--train-epochs", "train.batch|16|--train-batch",
                                             "trace.dir|a=b|--set trace.dir", "log.level|warn|--set log.level"}));
}

TEST(Arguments, MistakesAreNamed) {
  EXPECT_EQ(failure({"--train-epoch", "3"}), "unknown argument '--train-epoch'; did you mean --train-epochs?");
  EXPECT_EQ(failure({"--train-epochs"}), "--train-epochs needs a value");
  EXPECT_EQ(failure({"--set", "train"}), "--set train: write key=value");
}

}  // namespace
}  // namespace ronde
