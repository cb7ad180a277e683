// Conversions that several threads do, that are interrupted, and that fail.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "ronde/data/formats/unfinished.h"
#include "ronde/data/testing/records.h"
#include "ronde/data/tools/convert.h"

namespace ronde::data {
namespace {

namespace fs = std::filesystem;

// Numbers, and bytes that begin as a JPEG does: each format gets what it can hold. Fails at one sample, if it is to.
class Made : public Records {
 public:
  Made(std::string format, std::int64_t samples) : format_(std::move(format)), samples_(samples) {}

  std::string name() const override { return "made"; }
  std::int64_t size() const override { return samples_; }
  std::size_t bytes(std::int64_t index) const override { return 300 + static_cast<std::size_t>(index % 7); }
  std::string where(std::int64_t index) const override { return "made/" + std::to_string(index); }
  std::string key(std::int64_t index) const override { return "s" + std::to_string(index); }
  std::vector<std::string> classes() const override { return {"ant", "bee"}; }
  Sample read(std::int64_t index) const override {
    if (index == fails_at) throw Error(kind, "the disk does not answer");
    Sample sample;
    sample.set("class", Array::scalar<std::int64_t>(index % 2));
    if (format_ == "npy" || format_ == "csv")
      sample.set("features", array_of<float>({2}, {static_cast<float>(index), 0.5f}));
    else
      sample.set("image", Array::bytes_of("\xff\xd8\xff" + std::string(static_cast<std::size_t>(200 + index % 7),
                                                                       static_cast<char>(index))));
    return sample;
  }

  std::int64_t fails_at = -1;
  Error::Kind kind = Error::Kind::System;

 private:
  const std::string format_;
  const std::int64_t samples_;
};

// All files below a folder, or the one file.
std::map<std::string, std::string> files_of(const fs::path& path) {
  if (fs::is_regular_file(path)) return {{"", read_text(path)}};
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    files[entry.path().lexically_relative(path).string()] = entry.is_directory() ? "a folder" : read_text(entry.path());
  return files;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

struct Case {
  std::string format, name;
};

class ConvertResumeTest : public testing::TestWithParam<Case> {
 protected:
  WriterOptions to(const std::string& folder) const {
    fs::create_directories(folder_.path() / folder);
    return {.path = folder_.path() / folder / GetParam().name, .format = GetParam().format};
  }
  ConvertOptions with(int threads, std::uint64_t save_bytes = 2000) const {
    const std::string& format = GetParam().format;
    if (format == "csv" || format == "npy") save_bytes /= 12;  // samples are so much smaller
    if (format == "images") save_bytes *= 2;                   // it sees a whole file system to the disk each time
    return {.threads = threads, .save_bytes = save_bytes};
  }
  bool resumable() const { return GetParam().format != "lmdb" && GetParam().format != "hdf5"; }

  Folder folder_;
};

class ConvertKilledTest : public ConvertResumeTest {};

TEST_P(ConvertResumeTest, SameBytesForAnyNumberOfThreads) {
  const Made made(GetParam().format, 100);
  EXPECT_EQ(convert(made, to("one"), with(1)).samples, 100);
  EXPECT_EQ(convert(made, to("eight"), with(8, 1 << 30)).samples, 100);
  const bool keeps_times = GetParam().format == "hdf5";
  EXPECT_TRUE(keeps_times || files_of(to("one").path) == files_of(to("eight").path));
  EXPECT_EQ(names_in(folder_.path() / "one"), names_in(folder_.path() / "eight"));
}

TEST_P(ConvertResumeTest, ADiskThatFailsStopsItAndTheSameCallGoesOn) {
  const Made good(GetParam().format, 100);
  const Converted whole = convert(good, to("whole"), with(2));
  for (const std::int64_t stop : {5, 30, 99}) {
    fs::remove_all(folder_.path() / "again");
    Made bad(GetParam().format, 100);
    bad.fails_at = stop;
    try {
      convert(bad, to("again"), with(3));
      FAIL() << "it was to fail";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::System);
      EXPECT_EQ(error.message(), "made/" + std::to_string(stop) + ": the disk does not answer");
      EXPECT_EQ(error.exit_code(), 1);
    }
    EXPECT_FALSE(fs::exists(to("again").path));
    const Converted done = convert(good, to("again"), with(2));
    EXPECT_EQ(done.samples, whole.samples);
    EXPECT_EQ(done.bytes, whole.bytes);
    EXPECT_LE(done.went_on_at, stop);
    EXPECT_EQ(done.went_on_at > 0, resumable() && stop >= 30) << stop;
    EXPECT_TRUE(GetParam().format == "hdf5" || files_of(to("again").path) == files_of(to("whole").path)) << stop;
    EXPECT_EQ(names_in(folder_.path() / "again"), names_in(folder_.path() / "whole")) << stop;
  }
}

// What is on the disk when the program is killed anywhere: copied away at each sample, and gone on with there.
TEST_P(ConvertKilledTest, KilledAnywhere) {
  const Made made(GetParam().format, 40);
  ConvertOptions options = with(2, 1200);
  int number = 0;
  options.progress = [&](std::int64_t done, std::int64_t) {
    if (done % 5 != 1) return;
    const fs::path copy = folder_.path() / ("copy" + std::to_string(number++));
    // Other threads are at work in it: what disappears meanwhile is not there for us either.
    fs::create_directories(copy);
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "whole")) {
      const auto name = entry.path().lexically_relative(folder_.path() / "whole");
      if (entry.is_directory(ignored))
        fs::create_directories(copy / name, ignored);
      else if (name.string().find(".new") == std::string::npos)
        fs::copy_file(entry.path(), copy / name, ignored);
    }
  };
  convert(made, to("whole"), options);
  ASSERT_GT(number, 6);
  int went_on = 0;
  for (int i = 0; i < number; ++i) {
    const std::string copy = "copy" + std::to_string(i);
    went_on += convert(made, to(copy), with(2)).went_on_at > 0;
    EXPECT_EQ(files_of(to(copy).path), files_of(to("whole").path)) << i;
  }
  EXPECT_GT(went_on, 4);
}

TEST_P(ConvertKilledTest, AnotherSourceIsRefusedOrBeginsAnew) {
  Made bad(GetParam().format, 100);
  bad.fails_at = 90;
  message_of([&] { convert(bad, to("a"), with(2, 4000)); });
  const Made other(GetParam().format, 99);
  const std::string refused = message_of([&] { convert(other, to("a"), with(2)); });
  EXPECT_NE(refused.find(" was started from 100 samples of made"), std::string::npos) << refused;
  EXPECT_NE(refused.find("use --overwrite to start over"), std::string::npos);
  ConvertOptions overwrite = with(2, 4000);
  overwrite.overwrite = true;  // of the same source, it goes on
  EXPECT_GT(convert(Made(GetParam().format, 100), to("a"), overwrite).went_on_at, 0);
  message_of([&] { convert(bad, to("b"), with(2, 4000)); });
  EXPECT_EQ(convert(other, to("b"), overwrite).went_on_at, 0);
  EXPECT_EQ(names_in(folder_.path() / "a"), names_in(folder_.path() / "b"));
}

TEST_P(ConvertResumeTest, ASampleThatIsBadLeavesNothing) {
  Made bad(GetParam().format, 100);
  bad.fails_at = 90;
  bad.kind = Error::Kind::BadInput;
  EXPECT_EQ(message_of([&] { convert(bad, to("a"), with(2, 4000)); }), "made/90: the disk does not answer");
  EXPECT_EQ(names_in(folder_.path() / "a"), std::vector<std::string>());
}

std::string case_name(const testing::TestParamInfo<Case>& one) {
  std::string name = one.param.format + "_" + one.param.name;
  std::ranges::replace(name, '.', '_');
  return name;
}

const auto kResumable = testing::Values(Case{"tfrecord", "a"}, Case{"tfrecord", "a.tfrecord"}, Case{"tar", "a"},
                                        Case{"images", "a"}, Case{"csv", "a.csv"}, Case{"npy", "a"});
INSTANTIATE_TEST_SUITE_P(Formats, ConvertResumeTest, kResumable, case_name);
INSTANTIATE_TEST_SUITE_P(Formats, ConvertKilledTest, kResumable, case_name);
INSTANTIATE_TEST_SUITE_P(BeginAnew, ConvertResumeTest, testing::Values(Case{"lmdb", "a"}, Case{"hdf5", "a.h5"}),
                         case_name);

TEST(ConvertNotes, AreReadBackAndChecked) {
  const files::Notes notes{.made = "of \"x\"", .saved = {.samples = 7, .files = {{"a.part", 12}}}, .bytes = 99};
  EXPECT_EQ(files::parse_notes(files::to_json(notes), "n"), notes);
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"{", "n: byte 2: not valid JSON"},
           {R"({"made": "x", "samples": -1, "bytes": 0, "files": []})", "n: \"samples\" is not a count"},
           {R"({"made": "x", "samples": 1, "bytes": 0, "files": [{"file": "../a", "bytes": 0}]})",
            "n: \"file\" is not a valid file name"}})
    EXPECT_EQ(message_of([&, given = text] { files::parse_notes(given, "n"); }), why);
}

}  // namespace
}  // namespace ronde::data
