#include "ronde/comm/detail/negotiation.h"

#include <cstring>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

// Members run on machines of one kind: numbers travel as they lie in memory.
void put(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string_view take(std::string_view& bytes, std::size_t count) {
  if (count > bytes.size()) throw Error(Error::Kind::Bug, "a proposal ends in the middle");
  const std::string_view piece = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return piece;
}

std::uint64_t take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, take(bytes, sizeof(number)).data(), sizeof(number));
  return number;
}

// An entry begins with a word: in the lowest two bits what follows, above them a number.
enum Tag : std::uint64_t { kName = 0, kId = 1, kSequence = 2 };

void write_entry(std::string& bytes, const Proposal::Entry& entry) {
  if (!entry.name.empty()) {
    put(bytes, entry.name.size() << 2 | kName);
    bytes += entry.name;
  } else if (entry.id != kNoId) {
    put(bytes, std::uint64_t{entry.id} << 2 | kId);
  } else {
    put(bytes, entry.sequence << 2 | kSequence);
  }
}

Proposal::Entry read_entry(std::string_view& bytes) {
  Proposal::Entry entry;
  const std::uint64_t word = take_number(bytes);
  if ((word & 3) == kName) entry.name = take(bytes, word >> 2);
  if ((word & 3) == kId) entry.id = static_cast<RequestId>(word >> 2);
  if ((word & 3) == kSequence) entry.sequence = word >> 2;
  return entry;
}

}  // namespace

std::string write_proposal(const Proposal& proposal) {
  bool described = false;
  for (const auto& entry : proposal.entries) described = described || !entry.content.empty();
  std::string bytes;
  put(bytes, proposal.entries.size() << 2 | static_cast<std::uint64_t>(described) << 1 |
                 static_cast<std::uint64_t>(proposal.more));
  for (const auto& entry : proposal.entries) {
    write_entry(bytes, entry);
    if (described) put(bytes, entry.content.size());
    for (const Description& description : entry.content) write_description(bytes, description);
  }
  return bytes;
}

Proposal read_proposal(std::string_view bytes) {
  Proposal proposal;
  const std::uint64_t head = take_number(bytes);
  proposal.more = head & 1;
  for (std::uint64_t left = head >> 2; left > 0; --left) {
    proposal.entries.push_back(read_entry(bytes));
    std::uint64_t described = head & 2 ? take_number(bytes) : 0;
    for (; described > 0; --described) proposal.entries.back().content.push_back(read_description(bytes));
  }
  if (!bytes.empty()) throw Error(Error::Kind::Bug, "a proposal goes on after its end");
  return proposal;
}

}  // namespace ronde::comm::detail
