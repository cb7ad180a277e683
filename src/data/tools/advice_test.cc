#include "ronde/data/tools/advice.h"

#include <chrono>

#include <gtest/gtest.h>

#include "ronde/data/dataset.h"

namespace ronde::data {
namespace {

using namespace std::chrono_literals;
using Kind = topology::FileSystem::Kind;

const StorageFacts kFolder{.samples = 100'000,
                           .mean_bytes = 110'000,
                           .file_each = true,
                           .class_run = 1300,
                           .kind = Kind::Local,
                           .file_system = "ext4",
                           .memory_free = std::uint64_t{8} << 30};

std::string only(const std::vector<std::string>& advice) {
  EXPECT_EQ(advice.size(), 1u);
  return advice.empty() ? "" : advice.front();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Step crop() {
  return map([](Sample sample) { return sample; }, {.name = "crop", .random = true});
}

TEST(Advice, SaysNothingWhenNothingIsWrong) {
  EXPECT_EQ(advise_on_steps({shuffle(1), cache("/local"), crop(), batch(8), prefetch()}, kFolder).size(), 0u);
  EXPECT_EQ(advise_on_steps({shuffle(1), batch(8), prefetch(), repeat(3)}, kFolder).size(), 0u);
}

TEST(Advice, CacheAfterSomethingThatDraws) {
  EXPECT_TRUE(
      has(only(advise_on_steps({crop(), cache("/local"), prefetch()}, kFolder)), "after 'crop', which is random"));
}

TEST(Advice, PrefetchThatIsNotLastOrMissing) {
  EXPECT_TRUE(
      has(only(advise_on_steps({prefetch(), batch(4)}, kFolder)), "prefetch is not last: training waits for batch"));
  EXPECT_TRUE(has(only(advise_on_steps({batch(4)}, kFolder)), "prefetch is missing"));
}

TEST(Advice, BufferThatIsSmallerThanARunOfOneClass) {
  EXPECT_TRUE(
      has(only(advise_on_steps({shuffle_buffer(1000, 1), prefetch()}, kFolder)), "about 1300 samples of one class"));
  EXPECT_EQ(advise_on_steps({shuffle_buffer(2000, 1), prefetch()}, kFolder).size(), 0u);
}

TEST(Advice, CacheThatIsLargerThanTheMemory) {
  EXPECT_TRUE(has(only(advise_on_steps({cache(), prefetch()}, kFolder)), "61 % of them are read again"));
  EXPECT_EQ(advise_on_steps({cache({}, std::size_t{16} << 30), prefetch()}, kFolder).size(), 0u);
}

TEST(Advice, ManySmallFilesFarAway) {
  StorageFacts facts = kFolder;
  facts.kind = Kind::Parallel;
  facts.file_system = "Lustre";
  const std::string text = only(advise_on_storage(facts));
  EXPECT_TRUE(has(text, "100000 files of 107 KiB on Lustre")) << text;
  EXPECT_TRUE(has(text, "1 min 40 s per epoch")) << text;
  facts.samples = 500;
  EXPECT_TRUE(advise_on_storage(facts).empty());
}

TEST(Advice, FunctionsThatAreCheaperThanHandingOn) {
  StageStats stage{.name = "scale", .busy = 1ms, .samples = 10'000};
  EXPECT_TRUE(has(only(advise_on_stages({stage})), "'scale' takes 0.10 us per sample"));
  stage.busy = 1s;
  EXPECT_TRUE(advise_on_stages({stage}).empty());
}

}  // namespace
}  // namespace ronde::data
