#include "ronde/trace/file/problems.h"

#include <algorithm>

#include "ronde/base/text/format.h"

namespace ronde::trace {
namespace {

// "0, 2 to 5, 7", so that thousands of ranks still make a sentence.
class RankList {
 public:
  // REQUIRES: above those before it.
  void add(int first, int last) {
    if (!ranges_.empty() && ranges_.back().last + 1 == first)
      ranges_.back().last = last;
    else
      ranges_.push_back({first, last});
  }
  bool empty() const { return ranges_.empty(); }
  std::string text() const {
    std::string text;
    for (const auto& [first, last] : ranges_) {
      text += (text.empty() ? "" : ", ") + std::to_string(first);
      if (last > first) text += (last == first + 1 ? ", " : " to ") + std::to_string(last);
    }
    return text;
  }

 private:
  struct Range {
    int first, last;
  };
  std::vector<Range> ranges_;
};

// Ranks of one run work at the same time.
bool apart(const RankFacts& a, const RankFacts& b) {
  const bool known = (a.first != 0 || a.last != 0) && (b.first != 0 || b.last != 0);
  return known && (a.first > b.last || b.first > a.last);
}

double seconds_between(const RankFacts& a, const RankFacts& b) {
  return static_cast<double>(a.first > b.last ? a.first - b.last : b.first - a.last) / 1e9;
}

}  // namespace

int world_size_of(const std::vector<RankFacts>& ranks) {
  int size = 0;
  for (const RankFacts& rank : ranks) size = std::max({size, rank.world_size, rank.rank + 1});
  return size;
}

std::vector<std::string> problems_of(const std::vector<RankFacts>& ranks) {
  std::vector<std::string> problems;
  const int size = world_size_of(ranks);
  RankList without_clock, missing;
  int next = 0;  // rank that should come
  for (const RankFacts& rank : ranks) {
    if (rank.dropped > 0)
      problems.push_back(
          fmt::format("rank {} dropped {} events because its buffer was full; a larger trace.bytes keeps them",
                      rank.rank, rank.dropped));
    if (!rank.clock_shared) without_clock.add(rank.rank, rank.rank);
    if (rank.rank > next) missing.add(next, rank.rank - 1);
    next = rank.rank + 1;
    if (apart(rank, ranks.front()))
      problems.push_back(fmt::format(
          "the times of rank {} are {:.0f} s away from those of rank {}: a file of another run, or a wrong clock",
          rank.rank, seconds_between(rank, ranks.front()), ranks.front().rank));
    if (rank.world_size > 0 && rank.world_size != size)
      problems.push_back(
          fmt::format("rank {} is from a run of {} ranks, others from a run of {}: these are files of different runs",
                      rank.rank, rank.world_size, size));
  }
  if (ranks.size() > 1 && !without_clock.empty())
    problems.push_back(fmt::format(
        "the clocks of these ranks were not synchronised, so times between ranks depend on their wall clocks: {}",
        without_clock.text()));
  if (next < size) missing.add(next, size - 1);
  if (!missing.empty())
    problems.push_back(fmt::format("of {} ranks, these have no readable trace: {}", size, missing.text()));
  return problems;
}

std::string recording_has_no_end(int rank) {
  return fmt::format("the recording of rank {} has no end: its process was killed, crashed, or is still running", rank);
}

std::string recorded_twice(int rank) {
  return fmt::format("rank {} was recorded in two files; the first one is used", rank);
}

}  // namespace ronde::trace
