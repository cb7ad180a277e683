#include "ronde/train/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/checkpoint_testing.h"

namespace ronde::train {
namespace {

using tests::expect_equal;
using tests::failure;
using tests::sample;
namespace fs = std::filesystem;

class CheckpointFiles : public tests::InFolder {
 protected:
  fs::path save(std::int64_t step, int keep = 3) const {
    return save_checkpoint({.folder = folder_, .keep = keep}, sample(step));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }
  static void change_byte(const fs::path& file, std::int64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
    const auto place = stream.tellg();
    const char old = static_cast<char>(stream.get());
    stream.seekp(place);
    stream.put(static_cast<char>(old ^ 1));
  }
};

TEST_F(CheckpointFiles, ComeBackBitForBit) {
  const fs::path path = save(1200);
  EXPECT_EQ(path, folder_ / "step-00001200");
  expect_equal(load_checkpoint(path), sample(1200));
  EXPECT_TRUE(fs::exists(path / "model.safetensors"));
  EXPECT_TRUE(fs::exists(path / "optimizer.safetensors"));
  EXPECT_TRUE(fs::exists(path / "manifest.json"));
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00001200"}));  // nothing else is left
}

TEST_F(CheckpointFiles, StrangeValuesAndLayoutsComeBackToo) {
  const float quiet = std::numeric_limits<float>::quiet_NaN();
  Checkpoint odd{.info = {.step = 1}};
  odd.model["nan"] = torch::tensor({quiet, -0.0f, std::numeric_limits<float>::denorm_min()});
  odd.model["last"] = torch::randn({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast);
  odd.model["empty"] = torch::empty({0, 3});
  const Checkpoint back = load_checkpoint(save_checkpoint({.folder = folder_}, odd));
  EXPECT_EQ(std::memcmp(back.model.at("nan").data_ptr(), odd.model.at("nan").data_ptr(), 12), 0);
  EXPECT_TRUE(back.model.at("last").equal(odd.model.at("last")));
  EXPECT_EQ(back.model.at("empty").sizes(), torch::IntArrayRef({0, 3}));
  EXPECT_TRUE(back.optimizer.empty());
}

TEST_F(CheckpointFiles, TheLastOnesAreKept) {
  for (std::int64_t step = 10; step <= 50; step += 10) save(step, 2);
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000040", "step-00000050"}));
  save(5, 2);  // after going back: the one just written stays, whatever its number
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000005", "step-00000050"}));
  save(7, 1);
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000007"}));
}

TEST_F(CheckpointFiles, OneOfTheSameStepIsReplaced) {
  save(3);
  Checkpoint other = sample(3);
  other.model["fc.bias"] = torch::tensor(99);
  const fs::path path = save_checkpoint({.folder = folder_}, other);
  EXPECT_EQ(load_checkpoint(path).model.at("fc.bias").item<int>(), 99);
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000003"}));
}

TEST_F(CheckpointFiles, LeftoversOfAKilledProgramGo) {
  fs::create_directories(folder_ / ".step-00000009.partial");
  std::ofstream(folder_ / ".step-00000009.partial" / "model.safetensors") << "half";
  std::ofstream(folder_ / "notes.txt") << "mine";
  EXPECT_EQ(newest_checkpoint(folder_), std::nullopt);
  save(10);
  EXPECT_EQ(names(), (std::vector<std::string>{"notes.txt", "step-00000010"}));
}

TEST_F(CheckpointFiles, EveryChangedByteIsNoticed) {
  const fs::path path = save(1);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "manifest.json"}) {
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path / name));
    for (std::int64_t at = 0; at < bytes - 1; at += std::max<std::int64_t>(1, bytes / 97)) {
      change_byte(path / name, at);
      EXPECT_NE(failure([&] { load_checkpoint(path); }).find(name), std::string::npos) << name << " byte " << at;
      change_byte(path / name, at);
    }
  }
  expect_equal(load_checkpoint(path), sample(1));
}

TEST_F(CheckpointFiles, SayWhatIsWrongWithThem) {
  const fs::path path = save(1);
  const fs::path model = path / "model.safetensors";
  change_byte(model, -1);
  const std::string wrong = failure([&] { load_checkpoint(path); });
  EXPECT_EQ(wrong.find(model.string() + " has changed since it was written: its checksum is "), 0u) << wrong;
  const auto bytes = fs::file_size(model);
  fs::resize_file(model, bytes - 5);
  EXPECT_EQ(failure([&] { load_checkpoint(path); }),
            fmt::format("{} has {} bytes, but was written with {}", model.string(), bytes - 5, bytes));
  fs::remove(model);
  EXPECT_EQ(failure([&] { load_checkpoint(path); }),
            fmt::format("cannot read {}: No such file or directory", model.string()));
}

TEST_F(CheckpointFiles, NewestPassesOverBrokenOnes) {
  EXPECT_EQ(newest_checkpoint(folder_ / "none"), std::nullopt);
  for (const std::int64_t step : {1, 2, 3, 4}) save(step, 10);
  fs::resize_file(folder_ / "step-00000004" / "optimizer.safetensors", 10);
  fs::remove(folder_ / "step-00000003" / "manifest.json");
  change_byte(folder_ / "step-00000002" / "model.safetensors", -1);
  fs::create_directories(folder_ / "step-abc");
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  EXPECT_EQ(newest_checkpoint(folder_, warn), folder_ / "step-00000002");  // it reads no values
  EXPECT_EQ(warnings.size(), 2u);
  warnings.clear();
  const auto loaded = load_newest_checkpoint(folder_, warn);
  ASSERT_TRUE(loaded);
  expect_equal(*loaded, sample(1));
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_NE(warnings[0].find("step-00000004: "), std::string::npos) << warnings[0];
}

TEST_F(CheckpointFiles, OfALaterVersionAreRefused) {
  const fs::path path = save(1);
  std::ofstream(path / "manifest.json") << R"({"format": 2})";
  EXPECT_EQ(
      failure([&] { load_checkpoint(path); }),
      fmt::format("{} has format 2, but this version of Ronde reads format 1", (path / "manifest.json").string()));
}

// Room for one checkpoint of a million values and not for two, however the disk says so.
class FullDisk : public CheckpointFiles {
 protected:
  void expect_old_one_intact(const std::string& reason) const {
    const std::string wrong = failure([&] { save_checkpoint({.folder = folder_}, sample(2, 1'000'000)); });
    EXPECT_NE(wrong.find("cannot write"), std::string::npos) << wrong;
    EXPECT_NE(wrong.find(reason), std::string::npos) << wrong;
    EXPECT_EQ(names(), (std::vector<std::string>{"step-00000001"}));
    expect_equal(*load_newest_checkpoint(folder_), sample(1));
  }
};

TEST_F(FullDisk, IsAnErrorAndLeavesTheOldOne) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here: " << std::strerror(errno);
  save(1);
  expect_old_one_intact("No space left on device");
  EXPECT_EQ(umount(folder_.c_str()), 0);
}

TEST_F(FullDisk, SoIsALimitOnTheSizeOfFiles) {
  save(1);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  expect_old_one_intact("File too large");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
}

TEST_F(CheckpointFiles, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ / "file") << "";
  const std::string wrong = failure([&] { save_checkpoint({.folder = folder_ / "file" / "inside"}, sample(1)); });
  EXPECT_EQ(wrong.find("cannot make the folder"), 0u) << wrong;
}

TEST(CheckpointName, OfStepsAndBack) {
  EXPECT_EQ(checkpoint_name(1200), "step-00001200");
  EXPECT_EQ(checkpoint_name(1234567890123), "step-1234567890123");
  EXPECT_EQ(step_of("step-00001200"), 1200);
  for (const char* name : {"step-", "step--5", "step-12x", "xstep-12", ".step-00000012.partial"})
    EXPECT_EQ(step_of(name), std::nullopt) << name;
}

}  // namespace
}  // namespace ronde::train
