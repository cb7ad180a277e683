// Files that are cut off, damaged or not what they seem: what is readable is read, what is not is named, and nothing
// else happens.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/base/text/format.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/file/trace_writer.h"

namespace ronde::trace {
namespace {

namespace fs = std::filesystem;
using Type = ReadEvent::Type;

constexpr std::int64_t kBegin = 1'767'225'600'000'000'000;

struct Small {
  int rank = 0, world_size = 1;
  std::int64_t begin = kBegin;
};

fs::path file_of(const fs::path& folder, int rank) {
  return folder / fmt::format("trace-{:05}.perfetto-trace", rank);
}

// Of every kind of packet one.
void write_small(const fs::path& file, const Small& small) {
  const int rank = small.rank;
  TraceWriter writer(file);
  const auto uuid = [&](std::uint32_t row) { return TraceWriter::uuid(rank, row); };
  const auto metadata = [&](std::string_view key, const std::string& value) {
    const ReadArg arg{.key = key, .value = std::string_view(value)};
    writer.event({.rank = rank, .track = uuid(0), .time = small.begin, .name = "metadata", .args = {&arg, 1}});
  };
  writer.track({.uuid = uuid(0), .rank = rank, .kind = ReadTrack::Kind::Process, .name = "rank", .label = "pid 7"});
  writer.clocks({.rank = rank, .local = 1000, .trace = small.begin, .reference = 1000 + small.begin - kBegin});
  metadata("world_size", std::to_string(small.world_size));
  writer.track({.uuid = uuid(1), .rank = rank, .kind = ReadTrack::Kind::Other, .name = "steps"});
  writer.track({.uuid = uuid(2), .rank = rank, .kind = ReadTrack::Kind::Thread, .name = "training", .tid = 8});
  writer.track({.uuid = uuid(3), .rank = rank, .kind = ReadTrack::Kind::Other, .name = "move: world"});
  writer.track({.uuid = uuid(1u << 31 | 1), .rank = rank, .kind = ReadTrack::Kind::Counter, .name = "queue"});
  const auto span = [&](std::uint32_t row, std::string_view name, std::int64_t from, std::int64_t to,
                        std::initializer_list<ReadArg> args) {
    writer.event({.type = Type::Begin,
                  .rank = rank,
                  .track = uuid(row),
                  .time = small.begin + from,
                  .name = name,
                  .category = "c",
                  .args = {args.begin(), args.size()}});
    writer.event({.type = Type::End, .rank = rank, .track = uuid(row), .time = small.begin + to});
  };
  span(1, "step", 0, 100, {{"step", std::int64_t{4}}});
  span(2, "forward", 10, 50, {});
  span(3, "allreduce", 50, 90, {{"bytes", std::int64_t{64}}, {"waiting_us", 0.01}, {"phase", std::string_view("p")}});
  writer.event({.type = Type::Counter, .rank = rank, .track = uuid(1u << 31 | 1), .time = small.begin, .value = 2.5});
  metadata("dropped_events", "0");
  writer.finish();
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Where packets begin, and the end: a tag, a length, that many bytes.
std::vector<std::size_t> packets_of(const std::string& bytes) {
  std::vector<std::size_t> begins{0};
  while (begins.back() < bytes.size()) {
    std::size_t at = begins.back() + 1, length = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      length |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    begins.push_back(at + length);
  }
  return begins;
}

class Damaged : public ::testing::Test {
 protected:
  Damaged() {
    write_small(file(), {});
    whole_ = bytes_of(file());
  }
  fs::path file(int rank = 0) const { return file_of(folder_.path(), rank); }
  trace::Run read() const { return read_run(folder_.path(), {.threads = 1}); }
  // What reading fails with; empty when it does not, and then `found` is what was read.
  std::string failure(trace::Run* found = nullptr) const {
    try {
      trace::Run run = read();
      if (found) *found = std::move(run);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput) << error.what();
      return error.what();
    }
    return {};
  }

  const tests::Folder folder_;
  std::string whole_;
};

TEST_F(Damaged, TheWholeFileIsFine) {
  const auto run = read();
  EXPECT_TRUE(run.problems.empty()) << run.problems.front();
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_EQ(run.ranks[0].collectives.size(), 1u);
  EXPECT_EQ(run.ranks[0].steps.at(0).number, 4);
}

TEST_F(Damaged, CutAtEveryByte) {
  const auto begins = packets_of(whole_);
  ASSERT_EQ(begins.back(), whole_.size());
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    write_bytes(file(), std::string_view(whole_).substr(0, size));
    const std::size_t cut = *(std::ranges::upper_bound(begins, size) - 1);  // the packet that is not whole
    const bool between = cut == size;
    if (cut == 0) {  // nothing is left of the rank
      EXPECT_NE(failure().find(file().string()), std::string::npos) << size << " bytes: " << failure();
      continue;
    }
    const auto run = read();
    ASSERT_EQ(run.ranks.size(), 1u) << size << " bytes";
    ASSERT_EQ(run.problems.empty(), false) << size << " bytes";
    const std::string wanted = between ? "the recording of rank 0 has no end"
                                       : fmt::format("'{}' is damaged at byte {}", file().string(), cut);
    EXPECT_EQ(run.problems[0].find(wanted), 0u) << size << " bytes: " << run.problems[0];
  }
}

TEST_F(Damaged, AnyByteChanged) {
  for (const char change : {'\x01', '\xff'})
    for (std::size_t at = 0; at < whole_.size(); ++at) {
      std::string bytes = whole_;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      write_bytes(file(), bytes);
      trace::Run run;
      if (!failure(&run).empty()) continue;  // and nothing but BadInput
      for (const RankTrace& rank : run.ranks)
        for (const Lane& lane : rank.lanes)
          for (const LaneSpan& span : lane.spans) EXPECT_LE(span.time.begin, span.time.end) << at;
    }
}

TEST_F(Damaged, WhatIsNoTrace) {
  write_bytes(file(), "");
  EXPECT_NE(failure().find("empty"), std::string::npos) << failure();
  write_bytes(file(), "{\"traceEvents\": []}");
  EXPECT_NE(failure().find("is not a trace file"), std::string::npos) << failure();
  write_bytes(file(), std::string(4096, '\0'));
  EXPECT_NE(failure().find(file().string()), std::string::npos) << failure();
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_NE(failure().find(file().string()), std::string::npos) << failure();
}

TEST_F(Damaged, OneFileDoesNotSpoilTheOthers) {
  write_small(file(), {.rank = 0, .world_size = 3});
  write_small(file(1), {.rank = 1, .world_size = 3});
  write_bytes(file(2), "no trace");
  const auto run = read();
  ASSERT_EQ(run.ranks.size(), 2u);
  ASSERT_EQ(run.problems.size(), 2u);
  EXPECT_EQ(run.problems[0], fmt::format("'{}' is not a trace file", file(2).string()));
  EXPECT_EQ(run.problems[1], "of 3 ranks, these have no readable trace: 2");
}

TEST_F(Damaged, ManyMissingRanksMakeASentence) {
  write_small(file(5), {.rank = 5, .world_size = 1000});
  write_small(file(), {.rank = 0, .world_size = 1000});
  const auto run = read();
  EXPECT_EQ(run.world_size, 1000);
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_EQ(run.problems[0], "of 1000 ranks, these have no readable trace: 1 to 4, 6 to 999");
}

TEST_F(Damaged, TwoFilesOfOneRank) {
  write_small(folder_.path() / "trace-00001.perfetto-trace", {.rank = 0});
  const auto run = read();
  ASSERT_EQ(run.ranks.size(), 1u);
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_EQ(run.problems[0], "rank 0 was recorded in two files; the first one is used");
}

TEST_F(Damaged, FilesOfDifferentRuns) {
  write_small(file(), {.rank = 0, .world_size = 2});
  write_small(file(1), {.rank = 1, .world_size = 4});
  auto run = read();
  ASSERT_EQ(run.problems.size(), 2u);
  EXPECT_EQ(run.problems[0],
            "rank 0 is from a run of 2 ranks, others from a run of 4: these are files of different runs");
  EXPECT_EQ(run.problems[1], "of 4 ranks, these have no readable trace: 2, 3");
  write_small(file(1), {.rank = 1, .world_size = 2, .begin = kBegin + 3600'000'000'000});
  run = read();
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_EQ(run.problems[0],
            "the times of rank 1 are 3600 s away from those of rank 0: a file of another run, or a wrong clock");
}

TEST_F(Damaged, JoinedFilesAreReadUpToTheDamage) {
  write_small(file(1), {.rank = 1, .world_size = 2});
  const std::string second = bytes_of(file(1));
  fs::remove(file(1));
  write_bytes(file(), whole_ + second.substr(0, second.size() - 1));
  const auto run = read();
  EXPECT_EQ(run.ranks.size(), 2u);
  ASSERT_FALSE(run.problems.empty());
  EXPECT_EQ(run.problems[0].find(fmt::format("'{}' is damaged at byte {}", file().string(),
                                             whole_.size() + packets_of(second).rbegin()[1])),
            0u)
      << run.problems[0];
}

}  // namespace
}  // namespace ronde::trace
