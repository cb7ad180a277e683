#include "ronde/comm/detail/negotiation.h"

#include <algorithm>
#include <cstring>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

// Members run on machines of one kind: numbers travel as they lie in memory.
void put(std::string& bytes, std::uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string_view take(std::string_view& bytes, std::size_t count) {
  if (count > bytes.size()) throw Error(Error::Kind::Bug, "a proposal ends in the middle");
  const std::string_view piece = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return piece;
}

std::uint32_t take_number(std::string_view& bytes) {
  std::uint32_t number = 0;
  std::memcpy(&number, take(bytes, sizeof(number)).data(), sizeof(number));
  return number;
}

constexpr std::uint32_t kJoinableFlag = 1;

}  // namespace

std::optional<RequestId> Dictionary::find(std::string_view name) const {
  const auto found = ids_.find(name);
  if (found == ids_.end()) return {};
  return found->second;
}

RequestId Dictionary::learn(std::string_view name) {
  const auto [entry, fresh] = ids_.try_emplace(std::string(name), static_cast<RequestId>(names_.size()));
  if (fresh) names_.push_back(entry->first);
  return entry->second;
}

Proposal propose(const Dictionary& dictionary, std::span<const Pending> pending) {
  Proposal proposal;
  for (const Pending& request : pending) {
    const auto id = dictionary.find(request.name);
    proposal.entries.push_back({id ? "" : request.name, id.value_or(0), request.joinable});
  }
  return proposal;
}

// An entry is its flags, the length of its name, and the name or, without one, the number.
std::string write_proposal(const Proposal& proposal) {
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(proposal.entries.size()));
  for (const auto& entry : proposal.entries) {
    put(bytes, entry.joinable ? kJoinableFlag : 0);
    put(bytes, static_cast<std::uint32_t>(entry.name.size()));
    if (entry.name.empty()) {
      put(bytes, entry.id);
    } else {
      bytes += entry.name;
    }
  }
  return bytes;
}

Proposal read_proposal(std::string_view bytes) {
  Proposal proposal;
  for (std::uint32_t left = take_number(bytes); left > 0; --left) {
    Proposal::Entry entry;
    entry.joinable = take_number(bytes) & kJoinableFlag;
    const std::uint32_t length = take_number(bytes);
    if (length == 0) {
      entry.id = take_number(bytes);
    } else {
      entry.name = take(bytes, length);
    }
    proposal.entries.push_back(std::move(entry));
  }
  if (!bytes.empty()) throw Error(Error::Kind::Bug, "a proposal goes on after its end");
  return proposal;
}

std::vector<RequestId> learn(Dictionary& dictionary, const Proposal& proposal) {
  std::vector<RequestId> ids;
  for (const auto& entry : proposal.entries)
    ids.push_back(entry.name.empty() ? entry.id : dictionary.learn(entry.name));
  return ids;
}

void combine(std::span<Answer> into, std::span<const Answer> with) {
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = {std::min(into[i].low, with[i].low), std::max(into[i].high, with[i].high)};
}

Verdict judge(const Answer& combined) {
  if (combined.low == 0) return Verdict::Wait;
  return combined.low == combined.high ? Verdict::Run : Verdict::Differs;
}

}  // namespace ronde::comm::detail
