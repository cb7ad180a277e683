#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/agree/description.h"
#include "ronde/comm/agree/names.h"

// The words of a negotiation, as values and pure functions; agreement.h tells when they are said.
namespace ronde::comm::detail {

// What the leader has pending, in order of arrival.
struct Proposal {
  struct Entry {
    std::string name = {};                  // of a new name; empty: `id` is known to all, or
    RequestId id = kNoId;                   // kNoId: without a name, and then
    std::uint64_t sequence = 0;             // which one of these
    std::vector<Description> content = {};  // for members that have joined; empty when nobody has
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> entries = {};
  bool more = false;  // the leader has more than fits here: the next proposal follows at once
  friend bool operator==(const Proposal&, const Proposal&) = default;
};
std::string write_proposal(const Proposal& proposal);
// FAILS WITH: Bug for bytes that are no proposal.
Proposal read_proposal(std::string_view bytes);

// What one member, or several combined, say to one request: the lowest and the highest signature among them. Combining
// is the minimum of each word, for which it does not matter in which order, and how often, members are counted.
struct Answer {
  std::uint64_t low = 0;
  std::uint64_t high_complement = 0;
  std::uint64_t no_fence = 1;  // 0: some member had waited for something before it asked for this
  friend bool operator==(const Answer&, const Answer&) = default;
};
inline constexpr std::uint64_t kAll = ~std::uint64_t{0};
inline constexpr Answer kNotReady = {0, kAll, 1};
inline constexpr Answer kJoined = {kAll, kAll, 1};   // whatever the others say
inline constexpr Answer kJoinedRefuses = {1, 0, 1};  // a request that a joined member cannot be part of

// REQUIRES: signature is neither 0, 1 nor the largest number.
inline Answer ready(std::uint64_t signature, bool fence) {
  return {signature, ~signature, fence ? std::uint64_t{0} : std::uint64_t{1}};
}
inline constexpr std::size_t kAnswerWords = 3;

enum class Verdict {
  Wait,     // somebody does not have it yet
  Run,      // all have it, and mean the same
  Differs,  // all have it, and mean different things
};
inline Verdict judge(const Answer& combined) {
  if (combined.low == 0) return Verdict::Wait;
  return combined.low == ~combined.high_complement ? Verdict::Run : Verdict::Differs;
}

}  // namespace ronde::comm::detail
