#include "ronde/trace/record/span_cost.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::trace {
namespace {

TEST(SpanCost, MeasuresEachKindAndTheOrderThatMustHold) {
  const std::filesystem::path file = testing::TempDir() + "span_cost.perfetto-trace";
  const SpanCost cost = measure_span_cost({.file = file, .repetitions = 5, .batches = 2});
  EXPECT_GT(cost.recording, cost.stopped);  // two clock readings against none
  EXPECT_GT(cost.recording, cost.no_recorder);
  EXPECT_GT(cost.two_args, 0);
  EXPECT_GT(cost.counter, 0);
  EXPECT_GT(std::filesystem::file_size(file), 5u * 2 * 4096 * 3);  // it did record
  std::filesystem::remove(file);
}

TEST(SpanCost, SaysWhenTheFileCannotBeWritten) {
  EXPECT_THROW(measure_span_cost({.file = "/dev/full", .repetitions = 1, .batches = 1}), Error);
}

}  // namespace
}  // namespace ronde::trace
