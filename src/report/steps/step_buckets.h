#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/report/steps/steps.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// The buckets of gradients of each step: what a rank asked for between the begin of its first backward pass and that of
// its optimizer (where it recorded these), in the group that moves most bytes. Pure.
//
// A bucket takes what passes on a rank from when all members have asked for it, and the one before it is through, to
// its end.
class StepBuckets {
 public:
  StepBuckets(const trace::Run& run, const Window& window, const StepTable& steps);

  // Seconds by which the last bucket of a step would have been through earlier on a rank, had the first left when its
  // first gradient was there on all ranks; the others as they came, one after the other. Places as in StepTable.
  double won_by_early_start(std::size_t rank, std::size_t step) const;

  // Over the steps of all ranks; 0 without buckets.
  double mean_count() const;
  double mean_step_bytes() const;
  double median_first_bytes() const;
  double median_delay() const;    // of the first bucket: seconds from its first gradient to its last
  double median_seconds() const;  // that a bucket takes
  // What a collective of next to no bytes takes in that group, bucket or not; 0: there was none.
  double latency_seconds() const { return latency_; }

 private:
  struct Bucket {
    std::uint64_t sequence = 0, bytes = 0;
    std::int64_t first_arrival = 0, arrival = 0, end = 0;
  };
  struct Arrivals {
    std::int64_t first = 0, last = 0;  // of all members: when the last had its first gradient, and its last
  };

  std::vector<std::int64_t> durations(const std::vector<Bucket>& buckets) const;
  std::vector<Bucket> buckets_of(const trace::RankTrace& rank, TimeRange bounds, std::uint32_t group);
  void assign(const trace::Run& run, const trace::RankTrace& rank, const StepTable& steps,
              const std::vector<Bucket>& all);

  std::vector<std::vector<std::vector<Bucket>>> buckets_;  // by rank and step, by end
  std::map<std::uint64_t, Arrivals> arrivals_;             // by sequence
  double latency_ = 0;
};

}  // namespace ronde::report
