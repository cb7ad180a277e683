#include "ronde/train/evaluate/class_counts.h"

namespace ronde::train {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double precision(const ClassCount& count) {
  return ratio(count.hits, count.hits + count.falses);
}

double recall(const ClassCount& count) {
  return ratio(count.hits, count.hits + count.misses);
}

double f1(const ClassCount& count) {
  return ratio(2 * count.hits, 2 * count.hits + count.falses + count.misses);
}

double iou(const ClassCount& count) {
  return ratio(count.hits, count.hits + count.falses + count.misses);
}

Average average(std::span<const ClassCount> classes, double (*value)(const ClassCount&)) {
  ClassCount all;
  double sum = 0;
  std::int64_t present = 0;
  for (const ClassCount& one : classes) {
    all += one;
    if (one == ClassCount{}) continue;
    sum += value(one);
    ++present;
  }
  return {.micro = value(all), .macro = present == 0 ? 0 : sum / static_cast<double>(present)};
}

}  // namespace ronde::train
