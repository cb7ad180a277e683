#include "ronde/base/system/rates_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde {
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
    read_rates(folder.path() / "x.json");
    return "nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
}

TEST(RatesFile, IsReadAsItWasWritten) {
  const tests::Folder folder;
  const auto file = folder.path() / "new" / "folder" / "roofline.json";
  write_rates(kRates, file);
  EXPECT_EQ(read_rates(file), kRates);
}

TEST(RatesFile, LiesWhereCachesLie) {
  EXPECT_EQ(default_roofline({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}), "/c/ronde/roofline.json");
  EXPECT_EQ(default_roofline({{"XDG_CACHE_HOME", ""}, {"HOME", "/h"}}), "/h/.cache/ronde/roofline.json");
  EXPECT_EQ(default_roofline(Environment{}), "");
}

TEST(RatesFile, WhatIsSomethingElseIsRefusedByName) {
  EXPECT_NE(refusal("").find("not a file written by 'ronde bench roofline'"), std::string::npos);
  EXPECT_NE(refusal("{\"roofline\": 2}").find("x.json: not a file written by 'ronde bench roofline'"),
            std::string::npos);
  EXPECT_NE(refusal("[1, 2]").find("not a file written by"), std::string::npos);
  auto json = rates_to_json(kRates);
  json["disk_gb_s"] = -1;
  EXPECT_NE(refusal(json.dump()).find("'disk_gb_s' must be a finite number of at least 0, got -1"), std::string::npos);
  json["disk_gb_s"] = "fast";
  EXPECT_NE(refusal(json.dump()).find("'disk_gb_s' is not a number"), std::string::npos);
  json.erase("disk_gb_s");
  EXPECT_NE(refusal(json.dump()).find("'disk_gb_s' is missing"), std::string::npos);
  json["kind"] = 7;
  EXPECT_NE(refusal(json.dump()).find("'kind' is neither"), std::string::npos);
  EXPECT_THROW(read_rates("/nowhere/at/all"), Error);
  EXPECT_THROW(write_rates(kRates, "/proc/none/x.json"), Error);
}

TEST(RatesFile, AreKeptByKey) {
  const tests::Folder folder;
  const Environment home{{"XDG_CACHE_HOME", folder.path().string()}};
  const auto file = kept_rates(home, "a processor, libtorch 2"), other = kept_rates(home, "a processor, libtorch 3");
  EXPECT_NE(file, other);
  EXPECT_EQ(file.parent_path(), folder.path() / "ronde");
  EXPECT_EQ(kept_rates(Environment{}, "x"), "");
  EXPECT_FALSE(find_rates(file, "a processor, libtorch 2"));
  write_rates(kRates, file, "a processor, libtorch 2");
  EXPECT_EQ(find_rates(file, "a processor, libtorch 2"), kRates);
  EXPECT_EQ(read_rates(file), kRates);
  EXPECT_FALSE(find_rates(file, "a processor, libtorch 3")) << "two keys that share a file are told apart";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "ronde")) files += entry.exists();
  EXPECT_EQ(files, 1u) << "nothing is left beside it";
}

TEST(RatesFile, KeptRatesThatCannotBeReadAreMeasuredAgain) {
  const tests::Folder folder;
  const auto file = folder.path() / "rates.json";
  for (const char* text : {"", "{", "[]", "{\"key\": 7}", "{\"key\": \"k\", \"roofline\": 1}"}) {
    std::ofstream(file) << text;
    EXPECT_FALSE(find_rates(file, "k")) << text;
  }
  EXPECT_FALSE(find_rates(folder.path(), "k"));
  EXPECT_FALSE(find_rates("", "k"));
}

}  // namespace
}  // namespace ronde
