#include "ronde/train/logging/tensorboard.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/base/wire/event_file.h"
#include "ronde/data/formats/proto/tfrecord_framing.h"

namespace ronde::train {
namespace {

// Reads protobuf's wire format: field number -> raw values, numbers as 8 bytes. (tests/python/test_tensorboard.py reads
// the file with protobuf itself.)
using Fields = std::multimap<std::uint64_t, std::string>;

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(0));
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

Fields parse(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    std::size_t size = 0;
    switch (key & 7) {
      case 0: {
        const std::uint64_t value = take_varint(bytes);
        fields.emplace(key >> 3, std::string(reinterpret_cast<const char*>(&value), 8));
        continue;
      }
      case 1: size = 8; break;
      case 2: size = take_varint(bytes); break;
      case 5: size = 4; break;
      default: ADD_FAILURE() << "no such form"; return fields;
    }
    fields.emplace(key >> 3, std::string(bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
  return fields;
}

template <class Number>
Number number(const std::string& raw) {
  Number value{};
  std::memcpy(&value, raw.data(), std::min(raw.size(), sizeof(value)));
  return value;
}

TEST(TensorBoardEvents, HoldWhatTheProtocolSays) {
  const Fields version = parse(version_event(12.5));
  EXPECT_EQ(number<double>(version.find(1)->second), 12.5);
  EXPECT_EQ(version.find(3)->second, "brain.Event:2");
  EXPECT_FALSE(version.contains(2));

  const Fields restart = parse(restart_event(1, 301));
  EXPECT_EQ(number<std::int64_t>(restart.find(2)->second), 301);
  EXPECT_EQ(number<std::int64_t>(parse(restart.find(7)->second).find(1)->second), 1);

  const Fields scalars = parse(scalars_event(1, std::int64_t{1} << 40, {{"loss", 0.25}, {"accuracy", 0.5}}));
  EXPECT_EQ(number<std::int64_t>(scalars.find(2)->second), std::int64_t{1} << 40);
  const Fields values = parse(scalars.find(5)->second);
  ASSERT_EQ(values.count(1), 2u);
  const Fields loss = parse(values.begin()->second);
  EXPECT_EQ(loss.find(1)->second, "loss");
  EXPECT_EQ(number<float>(loss.find(2)->second), 0.25f);
}

struct TensorBoardFile : testing::Test {
  std::vector<Fields> events(const std::filesystem::path& file) const {
    std::ifstream in(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    std::vector<Fields> all;
    for (std::string_view rest = content; !rest.empty();)
      all.push_back(parse(data::take_tfrecord(rest, file.string(), content.size() - rest.size())));
    return all;
  }
  const ronde::tests::Folder kept;
  const std::filesystem::path folder = kept.path();
};

TEST_F(TensorBoardFile, IsCompleteAfterEachWrite) {
  TensorBoardWriter board(folder / "board");
  board.write(0, {{"loss", 2.5}});
  board.write(1, {{"loss", 1.5}});
  const auto all = events(board.file());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].contains(3));
  EXPECT_TRUE(all[1].contains(5));
  EXPECT_GT(number<double>(all[2].find(1)->second), 1.7e9) << "seconds since 1970";
  EXPECT_FALSE(board.error());
}

TEST_F(TensorBoardFile, ResumingWritesANewFileThatForgetsLaterSteps) {
  const TensorBoardWriter before(folder);
  const TensorBoardWriter after(folder, 300);
  EXPECT_NE(before.file(), after.file());
  EXPECT_LT(before.file(), after.file());
  const auto all = events(after.file());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(number<std::int64_t>(all[1].find(2)->second), 301);
}

TEST_F(TensorBoardFile, SaysWhichFileCannotBeMade) {
  EXPECT_THROW(TensorBoardWriter("/proc/nowhere"), Error);
}

}  // namespace
}  // namespace ronde::train
