#pragma once

#include <cstdint>
#include <span>

// How well classes are found, from counts: they add up over batches and ranks, so what is made of them at the end is
// exact. All pure, without torch.
namespace ronde::train {

// Of one class: how often it was found where it is, found where it is not, and missed where it is. Of labels in
// samples, or of the pixels of masks.
struct ClassCount {
  std::int64_t hits = 0, falses = 0, misses = 0;

  ClassCount& operator+=(const ClassCount& other) {
    hits += other.hits;
    falses += other.falses;
    misses += other.misses;
    return *this;
  }
  friend bool operator==(const ClassCount&, const ClassCount&) = default;
};

// All 0 to 1, and 0 where there is nothing to divide by.
double precision(const ClassCount& count);  // of what was found, the share that is there
double recall(const ClassCount& count);     // of what is there, the share that was found
double f1(const ClassCount& count);         // the harmonic mean of the two
double iou(const ClassCount& count);        // intersection over union: found and there, over found or there

// Over all classes: micro, of the sum of their counts; macro, the mean of the classes' own values. A class that is
// nowhere, neither there nor found, has no part in the mean, as in torchmetrics.
struct Average {
  double micro = 0, macro = 0;
  friend bool operator==(const Average&, const Average&) = default;
};
Average average(std::span<const ClassCount> classes, double (*value)(const ClassCount&));

}  // namespace ronde::train
