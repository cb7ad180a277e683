#pragma once

#include <cstdint>
#include <vector>

#include "ronde/trace/file/reader.h"

namespace ronde::trace {

// Brings the times in the file of one rank to the clock that all ranks share, from the moments at which both were
// measured: the difference of the two, and how it drifts. One measurement is off by what a message takes, and at the
// start of a run many follow one another at once: those within a second are taken for one, the mean of them, so that
// no span is stretched by noise. In between, the difference changes evenly; before the first and after the last, by the
// drift of the whole run. Not thread-safe while being filled.
class SharedClock {
 public:
  // Those without a reference tell nothing, nor do those that come out of order.
  void add(const ReadClocks& clocks);

  bool known() const { return !knots_.empty(); }
  // The shared clock when the file's showed `trace`; as it is, when nothing is known.
  std::int64_t to_shared(std::int64_t trace) const;
  // How far the file's clock, which follows the wall clock, was ahead of the shared one when they were first compared.
  std::int64_t file_ahead() const { return -base_; }

 private:
  struct Knot {
    std::int64_t first = 0;  // the file's clock at the first measurement that is in it
    double at = 0;           // mean over its measurements, since first_
    double ahead = 0;        // mean of shared less file, less base_
    int count = 0;
  };
  double ahead(double at) const;

  std::vector<Knot> knots_;
  std::int64_t first_ = 0, base_ = 0;  // of the first measurement: what is left fits a double to the nanosecond
};

}  // namespace ronde::trace
