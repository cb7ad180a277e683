#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::comm::detail {

// A rank that has gone, and how. Ranks tell each other.
struct Departure {
  // What it had done in a group: who cannot look into its memory needs to know whether it did its part.
  struct Done {
    std::uint64_t channel = 0;  // of the group
    int partner = -1;           // the other rank, in what goes from one rank to another: many of these share a channel
    std::uint64_t rounds = 0, buckets = 0;
    friend bool operator==(const Done&, const Done&) = default;
  };

  int rank = -1;
  int blamed = -1;        // the rank that is the first cause of it, as far as is known
  std::string text = {};  // "rank 1 on b2 (pid 7) is gone: signal 9 (killed)"
  std::vector<Done> done = {};
  bool by_itself = false;  // it has said so itself, having ended its engine; otherwise it was found to be gone
};

// Takes at most so many bytes, of which there must be a few thousand: a long text is cut, and the rest of what was done
// left out.
std::string write_departure(const Departure& departure, std::size_t most_bytes);
// Rank -1 for what is none.
Departure read_departure(const std::string& bytes);

// Several in as few messages as can be, of at most so many bytes each; and those of one message, without what is none.
std::vector<std::string> write_departures(std::span<const Departure> departures, std::size_t most_bytes);
std::vector<Departure> read_departures(std::string_view message);

}  // namespace ronde::comm::detail
