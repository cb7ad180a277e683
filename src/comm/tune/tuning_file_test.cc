#include "ronde/comm/tune/tuning_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::comm::detail {
namespace {

const TuningRecord kSmall{.nodes = 1,
                          .ranks = 2,
                          .step_bytes = 1000,
                          .fusion_bytes = 1 << 20,
                          .first_bucket_bytes = 0,
                          .algorithm = "auto",
                          .chosen_us = 9.5,
                          .default_us = 10.25};

TuningRecord large() {
  TuningRecord record = kSmall;
  record.nodes = 4;
  record.ranks = 64;
  record.algorithm = "ring";
  return record;
}

std::string trouble_with(const std::string& text) {
  try {
    read_tunings(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
}

TEST(TuningFile, WhatIsWrittenIsRead) {
  const std::vector<TuningRecord> records{kSmall, large()};
  EXPECT_EQ(read_tunings(write_tunings(records)), records);
  EXPECT_TRUE(read_tunings(write_tunings({})).empty());
}

TEST(TuningFile, WhatIsNoneOfOursIsRefusedWithAReason) {
  EXPECT_EQ(trouble_with("not at all"), "not valid JSON");
  EXPECT_EQ(trouble_with(""), "not valid JSON");
  EXPECT_EQ(trouble_with("[1, 2]"), "not a file of 'ronde autotune'");
  EXPECT_EQ(trouble_with("{\"what\": 7}"), "not a file of 'ronde autotune'");
  EXPECT_EQ(trouble_with("{\"what\": \"ronde autotune\", \"version\": 2}"), "its version is not 1");
  const std::string head = "{\"what\": \"ronde autotune\", \"version\": 1, \"records\": ";
  EXPECT_NE(trouble_with(head + "[{}]}").find("invalid record"), std::string::npos);
  EXPECT_NE(trouble_with(head + "[7]}").find("invalid record"), std::string::npos);
  std::string negative = write_tunings({kSmall});
  negative.replace(negative.find("1048576"), 7, "-1");
  EXPECT_EQ(trouble_with(negative), "'fusion_bytes' is not a number of bytes");
}

class TuningFileOnDisk : public testing::Test {
 protected:
  std::string path(const char* name) const { return folder_.path() / name; }

 private:
  const ronde::tests::Folder folder_;
};

TEST_F(TuningFileOnDisk, ARecordReplacesOneOfTheSameShape) {
  const std::string file = path("tuning.json");
  EXPECT_FALSE(load_tunings(file).has_value());
  save_tuning(file, kSmall);
  save_tuning(file, large());
  TuningRecord better = kSmall;
  better.fusion_bytes = 7;
  save_tuning(file, better);
  EXPECT_EQ(load_tunings(file), (std::vector<TuningRecord>{large(), better}));
}

TEST_F(TuningFileOnDisk, AnotherFileIsNotOverwritten) {
  const std::string file = path("precious.txt");
  std::ofstream(file) << "precious";
  try {
    save_tuning(file, kSmall);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), file + " holds no autotune results: not valid JSON");
  }
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(TuningFileOnDisk, AFolderThatIsNotThereIsNamed) {
  try {
    save_tuning(path("nowhere/tuning.json"), kSmall);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nowhere/tuning.json"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ronde::comm::detail
