#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What is not as it should be with the files of a run, a sentence each.
namespace ronde::trace {

struct RankFacts {
  int rank = 0;
  int world_size = 0;                // as the rank was told; 0: it did not say
  std::uint64_t dropped = 0;         // events that found no room
  bool clock_shared = false;         // whether its clock was compared with that of others
  bool ended = false;                // the recorder closed the file
  std::int64_t first = 0, last = 0;  // event, on one clock; both 0: none
};

// The largest that any rank knows of.
int world_size_of(const std::vector<RankFacts>& ranks);

// Lost events, ranks that are missing, clocks that nobody compared, files of other runs. REQUIRES: by rank.
std::vector<std::string> problems_of(const std::vector<RankFacts>& ranks);

std::string recording_has_no_end(int rank);
std::string recorded_twice(int rank);

}  // namespace ronde::trace
