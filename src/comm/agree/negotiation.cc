#include "ronde/comm/agree/negotiation.h"

#include "ronde/comm/support/bytes.h"

namespace ronde::comm::detail {
namespace {

constexpr std::string_view kWhat = "a proposal";

// An entry begins with a word: in the lowest two bits what follows, above them a number.
enum Tag : std::uint64_t { kName = 0, kId = 1, kSequence = 2 };

void write_entry(std::string& bytes, const Proposal::Entry& entry) {
  if (!entry.name.empty()) {
    support::put<std::uint64_t>(bytes, entry.name.size() << 2 | kName);
    bytes += entry.name;
  } else if (entry.id != kNoId) {
    support::put<std::uint64_t>(bytes, std::uint64_t{entry.id} << 2 | kId);
  } else {
    support::put<std::uint64_t>(bytes, entry.sequence << 2 | kSequence);
  }
}

Proposal::Entry read_entry(std::string_view& bytes) {
  Proposal::Entry entry;
  const std::uint64_t word = support::take<std::uint64_t>(bytes, kWhat);
  if ((word & 3) == kName) entry.name = support::take(bytes, word >> 2, kWhat);
  if ((word & 3) == kId) entry.id = static_cast<RequestId>(word >> 2);
  if ((word & 3) == kSequence) entry.sequence = word >> 2;
  return entry;
}

}  // namespace

std::string write_proposal(const Proposal& proposal) {
  bool described = false;
  for (const auto& entry : proposal.entries) described = described || !entry.content.empty();
  std::string bytes;
  support::put<std::uint64_t>(bytes, proposal.entries.size() << 2 | static_cast<std::uint64_t>(described) << 1 |
                                         static_cast<std::uint64_t>(proposal.more));
  for (const auto& entry : proposal.entries) {
    write_entry(bytes, entry);
    if (described) support::put<std::uint64_t>(bytes, entry.content.size());
    for (const Description& description : entry.content) write_description(bytes, description);
  }
  return bytes;
}

Proposal read_proposal(std::string_view bytes) {
  Proposal proposal;
  const std::uint64_t head = support::take<std::uint64_t>(bytes, kWhat);
  proposal.more = head & 1;
  for (std::uint64_t left = head >> 2; left > 0; --left) {
    proposal.entries.push_back(read_entry(bytes));
    std::uint64_t described = head & 2 ? support::take<std::uint64_t>(bytes, kWhat) : 0;
    for (; described > 0; --described) proposal.entries.back().content.push_back(read_description(bytes));
  }
  if (!bytes.empty()) throw Error(Error::Kind::Bug, "a proposal has bytes after its end");
  return proposal;
}

}  // namespace ronde::comm::detail
