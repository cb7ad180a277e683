#include "ronde/tune/space/expression.h"

#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

using Json = nlohmann::json;

Json value_of(const char* expression) {
  const Json config = {
      {"lr", 0.5}, {"depth", 3}, {"model", {{"name", "resnet"}, {"widths", {64, 128}}}}, {"flag", true}};
  return evaluate(
      expression, [&](const std::string& path) { return config.at(Json::json_pointer("/" + path)); },
      [] { return 0.75; });
}

TEST(Expression, ComputesAsPythonDoes) {
  EXPECT_EQ(value_of("1 + 2 * 3"), 7);
  EXPECT_EQ(value_of("(1 + 2) * 3"), 9);
  EXPECT_EQ(value_of("2 ** 3 ** 2"), 512);
  EXPECT_EQ(value_of("-2 ** 2"), -4);
  EXPECT_EQ(value_of("7 // 2"), 3);
  EXPECT_EQ(value_of("-7 // 2"), -4);
  EXPECT_EQ(value_of("-7 % 3"), 2);
  EXPECT_EQ(value_of("6 / 3"), 2.0);
  EXPECT_TRUE(value_of("6 / 3").is_number_float());
  EXPECT_EQ(value_of("1e-3 * 2"), 2e-3);
  EXPECT_EQ(value_of("max(1, 5, 2) - min(4, 3)"), 2);
  EXPECT_EQ(value_of("int(3.9) + round(2.5)"), 5);
  EXPECT_EQ(value_of("sqrt(16)"), 4.0);
  EXPECT_EQ(value_of("abs(-3)"), 3);
}

TEST(Expression, ReadsOtherValues) {
  EXPECT_EQ(value_of("config.lr * 2"), 1.0);
  EXPECT_EQ(value_of("config['lr'] * 2"), 1.0);
  EXPECT_EQ(value_of("spec.config.depth + 1"), 4);
  EXPECT_EQ(value_of("config.model.name"), "resnet");
  EXPECT_EQ(value_of("config['model/name'] == 'resnet'"), true);
  EXPECT_EQ(value_of("config.model.widths[1]"), 128);
}

TEST(Expression, ChoosesAndComputesOnlyWhatItChose) {
  EXPECT_EQ(value_of("64 if config.depth > 2 else 32"), 64);
  EXPECT_EQ(value_of("64 if config.depth > 3 else 32 if config.flag else 16"), 32);
  EXPECT_EQ(value_of("config.missing if False else 5"), 5);
  EXPECT_EQ(value_of("True or config.missing"), true);
  EXPECT_EQ(value_of("False and config.missing"), false);
  EXPECT_EQ(value_of("not config.flag"), false);
  EXPECT_EQ(value_of("0 or 'text'"), "text");
  EXPECT_EQ(value_of("choice(1, 2, 3, 4)"), 4);
  EXPECT_EQ(value_of("random() * 4"), 3.0);
}

TEST(Expression, NamesWhatItCannotRead) {
  for (const char* wrong : {"", "1 +", "1 2", "foo", "foo(1)", "config", "config.", "(1", "'open", "1 if 2", "1..2",
                            "__import__('os')", "1 / 0", "'a' * 2", "sqrt(-1)", "1e999", "9 ** 999", "min()"})
    EXPECT_THROW(value_of(wrong), Error) << wrong;
  EXPECT_NO_THROW(check_expression("config.not_there * 2 if config.x > 3 else sqrt(config.y)"));
  EXPECT_THROW(check_expression("config.x *"), Error);
}

}  // namespace
}  // namespace ronde::tune
