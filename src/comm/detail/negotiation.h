#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// How the members of a group agree on what to do next, as pure functions. A round has two steps:
//
//   1. the leader (the lowest member that has not joined) proposes what it has pending, in order of arrival;
//   2. everyone answers for each proposed request, the answers are combined, and everyone judges the same way.
//
// A request that the leader does not have cannot run yet, so nobody else needs to propose. Names are sent once: both
// sides learn them in the order of the proposals, and use numbers from then on. What is sent does not grow with the
// number of members.
namespace ronde::comm::detail {

using RequestId = std::uint32_t;

// The names that a group has agreed on. The same on every member after the same proposals.
class Dictionary {
 public:
  std::optional<RequestId> find(std::string_view name) const;
  RequestId learn(std::string_view name);  // the number it has, a new one if it is new
  const std::string& name(RequestId id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, RequestId, Hash, std::equal_to<>> ids_;
  std::vector<std::string> names_;
};

// A request that waits, as the leader sees it.
struct Pending {
  std::string name;
  bool joinable = false;  // members that have joined take part with zeros
};

struct Proposal {
  struct Entry {
    std::string name;       // of a new request; empty when `id` is known to all
    RequestId id = 0;       //
    bool joinable = false;  //
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> entries;
  friend bool operator==(const Proposal&, const Proposal&) = default;
};

Proposal propose(const Dictionary& dictionary, std::span<const Pending> pending);
std::string write_proposal(const Proposal& proposal);
// FAILS WITH: Bug for bytes that are no proposal.
Proposal read_proposal(std::string_view bytes);

// The requests that a proposal is about, by number; new names are learnt.
std::vector<RequestId> learn(Dictionary& dictionary, const Proposal& proposal);

// What one member, or several combined, say to one request: the lowest and the highest signature among them.
struct Answer {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};
inline constexpr Answer kNotReady = {0, 0};
inline constexpr Answer kJoined = {~std::uint64_t{0}, 0};         // whatever the others say
inline constexpr Answer kJoinedRefuses = {1, ~std::uint64_t{0}};  // a request that a joined member cannot be part of

// REQUIRES: signature is neither 0, 1 nor the largest number.
inline Answer ready(std::uint64_t signature) {
  return {signature, signature};
}
void combine(std::span<Answer> into, std::span<const Answer> with);

enum class Verdict {
  Wait,     // somebody does not have it yet
  Run,      // all have it, and mean the same
  Differs,  // all have it, and mean different things
};
Verdict judge(const Answer& combined);

}  // namespace ronde::comm::detail
