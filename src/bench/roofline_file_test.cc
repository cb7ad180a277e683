#include "ronde/bench/roofline_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::bench {
namespace {

const MachineRates kRates = {.name = "measured on a \"node\"",
                             .kind = Hardware::Kind::Gpu,
                             .f32 = 1.5,
                             .bf16 = 3.25,
                             .memory_gb_s = 100,
                             .memory_gb = 16,
                             .host_gb_s = 12,
                             .disk_gb_s = 0.5,
                             .allreduce_ranks = 2,
                             .allreduce_us = 20,
                             .allreduce_gb_s = 3};

std::string refusal(const std::string& text) {
  const tests::Folder folder;
  std::ofstream(folder.path() / "x.json") << text;
  try {
    read_roofline(folder.path() / "x.json");
    return "nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
}

TEST(RooflineFile, IsReadAsItWasWritten) {
  const tests::Folder folder;
  const auto file = folder.path() / "new" / "folder" / "roofline.json";
  write_roofline(kRates, file);
  EXPECT_EQ(read_roofline(file), kRates);
}

TEST(RooflineFile, LiesWhereCachesLie) {
  EXPECT_EQ(default_roofline({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}), "/c/ronde/roofline.json");
  EXPECT_EQ(default_roofline({{"XDG_CACHE_HOME", ""}, {"HOME", "/h"}}), "/h/.cache/ronde/roofline.json");
  EXPECT_EQ(default_roofline(Environment{}), "");
}

TEST(RooflineFile, WhatIsSomethingElseIsRefusedByName) {
  EXPECT_NE(refusal("").find("not what 'ronde bench roofline'"), std::string::npos);
  EXPECT_NE(refusal("{\"roofline\": 2}").find("x.json: it is not what"), std::string::npos);
  EXPECT_NE(refusal("[1, 2]").find("not what"), std::string::npos);
  auto json = to_json(kRates);
  json["disk_gb_s"] = -1;
  EXPECT_NE(refusal(json.dump()).find("'disk_gb_s' is -1"), std::string::npos);
  json["disk_gb_s"] = "fast";
  EXPECT_NE(refusal(json.dump()).find("'disk_gb_s' is no number"), std::string::npos);
  json.erase("disk_gb_s");
  EXPECT_NE(refusal(json.dump()).find("'disk_gb_s' is missing"), std::string::npos);
  json["kind"] = 7;
  EXPECT_NE(refusal(json.dump()).find("'kind' is neither"), std::string::npos);
  EXPECT_THROW(read_roofline("/nowhere/at/all"), Error);
  EXPECT_THROW(write_roofline(kRates, "/proc/none/x.json"), Error);
}

}  // namespace
}  // namespace ronde::bench
