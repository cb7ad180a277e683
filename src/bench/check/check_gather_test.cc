#include "ronde/bench/check/check_gather.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::bench::detail {
namespace {

class CheckGather : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  const ronde::tests::Folder kept_;
  const std::filesystem::path folder_ = kept_.path();
};

TEST_F(CheckGather, FingerprintsTellFilesApart) {
  const auto one = write("one", "text"), same = write("same", "text"), other = write("other", "texT");
  EXPECT_EQ(fingerprint(one), fingerprint(same));
  EXPECT_NE(fingerprint(one), fingerprint(other));
  EXPECT_NE(fingerprint(write("empty", "")), "");
  EXPECT_EQ(fingerprint(folder_ / "missing"), "");
  EXPECT_EQ(fingerprint(folder_), "");
}

TEST_F(CheckGather, ProgramsAreFoundAsAShellDoes) {
  const auto program = write("tool", "#!/bin/sh\n");
  const Environment environment{{"PATH", "/nowhere:" + folder_.string()}};
  EXPECT_EQ(find_program("tool", environment), "");  // not executable
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("tool", environment), program);
  EXPECT_EQ(find_program(program, environment), program);
  EXPECT_EQ(find_program("tool", {{"PATH", "/nowhere"}}), "");
}

TEST_F(CheckGather, ThisNodeHasWhatEveryNodeHas) {
  const auto script = write("train.py", "print()");
  const NodeFacts facts = gather_node_facts({{"libtorch", "2.13.0"}}, {"sh", script, "--epochs"}, {{"PATH", "/bin"}});
  EXPECT_GT(facts.cores, 0);
  EXPECT_GT(facts.memory_free, 0u);
  EXPECT_LE(facts.memory_free, facts.memory_total);
  const auto value = [&](const std::string& what) -> std::string {
    for (const Trait& trait : facts.traits)
      if (trait.what == what) return trait.value;
    return "(not told)";
  };
  EXPECT_EQ(value("libtorch"), "2.13.0");
  EXPECT_EQ(value("program sh"), fingerprint("/bin/sh"));
  EXPECT_EQ(value("file " + script), fingerprint(script));
  EXPECT_EQ(value("file --epochs"), "(not told)");
  EXPECT_NE(value(std::string(kLibraries)), "(not told)");
}

TEST_F(CheckGather, AProgramThatIsMissingIsToldAsSuch) {
  const NodeFacts facts = gather_node_facts({}, {"no-such-program"}, {{"PATH", "/bin"}});
  EXPECT_NE(std::ranges::find(facts.traits, Trait{"program no-such-program", "", true, true}), facts.traits.end());
}

TEST(CheckProcess, KnowsItsLibrariesAndItsAge) {
  const auto libraries = loaded_libraries();
  EXPECT_TRUE(std::ranges::any_of(libraries, [](const Trait& trait) { return trait.what.starts_with("libc.so"); }));
  const auto age = age_of_process();
  EXPECT_GE(age.count(), 0);
  EXPECT_LT(age, std::chrono::hours(1));
}

TEST(CheckBlobs, ComeBackAsTheyWere) {
  const RankFacts rank{.machine = "m",
                       .host = "b1",
                       .gpu = GpuFacts{"H200", "0000:1b:00.0", 100, 90},
                       .start = {.launch = 0.5, .load = 0.25, .meet = 1.5, .engine = 2.0}};
  EXPECT_EQ(rank_facts_from(to_blob(rank)), rank);
  const RankFacts bare{.machine = "m", .host = "b1", .no_gpu = "no driver"};
  EXPECT_EQ(rank_facts_from(to_blob(bare)), bare);
  const NodeFacts node{.traits = {{"a", "1"}, {"b", "", false, true}}, .cores = 8, .memory_total = 3, .memory_free = 2};
  EXPECT_EQ(node_facts_from(to_blob(node)), node);
}

TEST(CheckBlobs, OfAnotherVersionAreAMismatch) {
  for (const char* blob : {"", "{}", "[1]", "{\"machine\": 1}"}) {
    try {
      rank_facts_from(blob);
      ADD_FAILURE() << blob;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Mismatch);
    }
    EXPECT_THROW(node_facts_from(blob), Error);
  }
}

}  // namespace
}  // namespace ronde::bench::detail
