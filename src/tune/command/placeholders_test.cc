#include "ronde/tune/command/placeholders.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

using Words = std::vector<std::string>;

const TrialWords kTrial{.config = {{"lr", 0.01}, {"name", "adam w"}, {"model", {{"width", 64}, {"sizes", {1, 2}}}}},
                        .id = "00007",
                        .folder = "/out/trial_00007"};

std::string filled(const std::string& word) {
  return fill_placeholders({word}, kTrial).front();
}

TEST(Placeholders, BecomeValues) {
  EXPECT_EQ(fill_placeholders({"train", "--lr={lr}", "--name", "{name}"}, kTrial),
            (Words{"train", "--lr=0.01", "--name", "adam w"}));
  EXPECT_EQ(filled("{model/width}x{model.width}"), "64x64");
  EXPECT_EQ(filled("{model/sizes} {model/sizes/1}"), "[1,2] 2");
  EXPECT_EQ(filled("{trial_id}:{trial_dir}"), "00007:/out/trial_00007");
}

TEST(Placeholders, LeaveOtherBracesAlone) {
  for (const char* word : {"{}", "{ lr }", "{print $1}", R"({"a": {"b": 1}})", "{", "}", "{lr", "a}b"})
    EXPECT_EQ(filled(word), word);
  EXPECT_EQ(filled("{{lr}} {lr}"), "{lr} 0.01");
}

TEST(Placeholders, UnknownNamesAreRefused) {
  try {
    filled("--width={model/widht}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("did you mean {model/width}?"), std::string::npos) << error.message();
  }
  const Space plain = Space::parse({{"lr", {{"uniform", {0, 1}}}}});
  EXPECT_NO_THROW(check_placeholders({"{lr}"}, plain));
  EXPECT_THROW(check_placeholders({"{momentum}"}, plain), Error);
  const Space conditional = Space::parse({{"o", {{"choice", {{{"m", {{"uniform", {0, 1}}}}}, {{"b", 1}}}}}}});
  EXPECT_NO_THROW(check_placeholders({"{o/m}"}, conditional)) << "only some trials have it";
}

}  // namespace
}  // namespace ronde::tune
