#include "ronde/train/logging/metrics_log.h"

#include <cmath>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"

namespace ronde::train {
namespace {

struct MetricsLogTest : testing::Test {
  std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const ronde::tests::Folder kept;
  const std::filesystem::path folder = kept.path(), file = folder / "new" / "log.jsonl";
};

TEST_F(MetricsLogTest, ALineIsInTheFileAtOnce) {
  MetricsLog log(file);
  log.write(1, {{"kind", "train"}, {"loss", 0.5}, {"samples", 64}});
  const std::string first = "{\"step\":1,\"kind\":\"train\",\"loss\":0.5,\"samples\":64}\n";
  EXPECT_EQ(content(), first);
  log.write(2, {{"loss", std::nan("")}});
  const std::string second = "{\"step\":2,\"loss\":null}\n";
  EXPECT_EQ(content(), first + second) << "JSON has no word for what is no number";
  log.write(3, {{"iou_by_class", std::vector<double>{0.5, std::nan("")}}});
  EXPECT_EQ(content(), first + second + "{\"step\":3,\"iou_by_class\":[0.5,null]}\n");
  EXPECT_FALSE(log.error());
}

TEST_F(MetricsLogTest, ResumingRepeatsNoStep) {
  {
    MetricsLog log(file);
    for (std::int64_t step = 1; step <= 5; ++step) log.write(step, {});
  }
  std::ofstream(file, std::ios::app) << "{\"step\":6,\"lo";  // killed while writing
  {
    MetricsLog log(file, 3);
    log.write(4, {{"again", 1}});
  }
  EXPECT_EQ(content(), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4,\"again\":1}\n");
  { const MetricsLog log(file); }
  EXPECT_EQ(content(), "") << "not resumed: a new log";
}

TEST_F(MetricsLogTest, ResumingWithoutAFileStartsOne) {
  MetricsLog log(file, 3);
  log.write(4, {});
  EXPECT_EQ(content(), "{\"step\":4}\n");
}

TEST(LinesUpTo, KeepsWhatHasNoStepAndDropsWhatIsNoLine) {
  EXPECT_EQ(lines_up_to("{\"host\":\"b2\"}\n{\"step\":1}\nnonsense\n[1]\n{\"step\":9}\n{\"step\":2}\n{\"step\":1}", 2),
            "{\"host\":\"b2\"}\n{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(lines_up_to("", 2), "");
}

TEST_F(MetricsLogTest, AFullDiskStopsTheLogAndNotTheTraining) {
  MetricsLog log("/dev/full");
  log.write(1, {});
  ASSERT_TRUE(log.error());
  EXPECT_EQ(log.error()->message(), "cannot write the log /dev/full: No space left on device");
  log.write(2, {});
}

TEST_F(MetricsLogTest, SaysWhichFileCannotBeMade) {
  EXPECT_THROW(MetricsLog("/proc/nowhere/log.jsonl"), Error);
}

}  // namespace
}  // namespace ronde::train
