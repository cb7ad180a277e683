#include "comm_targets.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/comm/agree/agreement.h"
#include "ronde/comm/agree/negotiation.h"
#include "ronde/comm/bootstrap/bootstrap_wire.h"
#include "ronde/comm/execute/rows.h"
#include "ronde/comm/gpu/gpu_place.h"
#include "ronde/comm/link/nodes/nodes_notes.h"
#include "ronde/comm/link/tcp/endpoint.h"
#include "ronde/comm/link/tcp/handshake.h"
#include "ronde/comm/link/tcp/introduction.h"
#include "ronde/comm/link/tcp/mesh_frame.h"
#include "ronde/comm/watch/departure.h"
#include "ronde/comm/watch/stall.h"

namespace ronde::data::fuzz {
namespace {

using namespace comm::detail;

// For content of ranks that belong to the job, whatever is not understood is our bug: here it is the bytes' fault.
template <class Read>
void try_to_read(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

constexpr int kRanks = 4;

// Without the secret nothing is accepted, however the bytes are cut; the first one says how.
void handshake(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t cut = 1 + static_cast<unsigned char>(bytes.front()) % 64;
  ListenerHandshake listener("secret", 1, kRanks, comm::support::sha256("listener"));
  for (std::string_view rest = bytes.substr(1); !rest.empty();) {
    const std::size_t part = std::min(cut, rest.size());
    if (listener.add(rest.substr(0, part)).size() > CallerHandshake::kChallengeBytes) std::abort();
    rest.remove_prefix(part);
  }
  if (listener.state() == ListenerHandshake::State::Accepted) std::abort();
  if (bytes.size() < CallerHandshake::kChallengeBytes) return;
  const CallerHandshake caller("secret", {.from = 2, .to = 1}, comm::support::sha256("caller"));
  if (!caller.answer(bytes.substr(0, CallerHandshake::kChallengeBytes)).empty()) std::abort();
}

// What comes over a connection, however it is cut, comes out as it is: headers that are right, and what they announced.
void stream(std::string_view bytes) {
  constexpr std::uint64_t kMost = 1 << 16;  // as if there were no memory for more
  if (bytes.empty()) return;
  const std::size_t cut = 1 + static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  Incoming in;
  std::string seen;
  const auto begin = [&] {
    seen.append(reinterpret_cast<const char*>(&in.header), sizeof(in.header));
    if (!wrong_header(in.header).empty() || in.header.bytes > kMost) return false;
    in.arrival = std::make_shared<Arrival>();
    in.arrival->buffer = SharedBuffer(in.header.bytes);
    return true;
  };
  const auto finish = [&] {
    const auto arrival = std::exchange(in.arrival, nullptr);
    seen.append(reinterpret_cast<const char*>(arrival->buffer.data()), arrival->got);
    return true;
  };
  bool open = true;
  for (std::string_view rest = bytes; open && !rest.empty();) {
    const std::size_t part = std::min(cut, rest.size());
    std::memcpy(in.buffer.data(), rest.data(), part);
    in.begin = 0;
    in.end = part;
    open = take_buffered(in, begin, finish);
    rest.remove_prefix(part);
  }
  if (!bytes.starts_with(seen)) std::abort();
}

// What passes is what the mesh can count with.
void frame(std::string_view bytes) {
  FrameHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!wrong_header(header).empty()) return;
  if (header.bytes > std::uint64_t{1} << 40 || header.tag.lane >= Tag::kLanes) std::abort();
}

void endpoint(std::string_view bytes) {
  const ReceivedEndpoint told = read_endpoint(std::string(bytes));
  const auto again = read_endpoint(write_endpoint(told.endpoint, ""));
  if (again.endpoint.addresses != told.endpoint.addresses) std::abort();
  const std::vector<Address> mine{{"10.1.0.5", 24}, {"fd00::1", 64}, {"127.0.0.1", 8}};
  for (const bool same_machine : {false, true}) order_addresses(mine, told.endpoint.addresses, same_machine);
  for (const Address& address : told.endpoint.addresses) matches_interface("10.1,eth0,fd00::/8", "eth1", address);
}

void introduction(std::string_view bytes) {
  read_introduction(std::string(bytes));
}

void departure(std::string_view bytes) {
  const Departure departure = read_departure(std::string(bytes));
  if (departure.rank >= 0 &&
      read_departure(write_departure(departure, FrameHeader::kLongestNote)).rank != departure.rank)
    std::abort();
}

void proposal(std::string_view bytes) {
  try_to_read([&] {
    const Proposal found = read_proposal(bytes);
    for (const auto& entry : found.entries)
      for (const Description& description : entry.content) to_text(description);
    write_proposal(found);
  });
}

void note(std::string_view bytes) {
  const auto note = read_note(bytes);
  if (!note) return;
  if (write_note(*note) != bytes) std::abort();
  try_to_read([&] {
    for (const SilentMember& one : read_silent(note->rest, kRanks))
      if (one.member < 0 || one.member >= kRanks) std::abort();
    const auto texts = unpack_texts(note->rest);
    if (unpack_texts(pack_texts(texts)) != texts) std::abort();
  });
}

std::vector<std::uint64_t> words_of(std::string_view& bytes, std::size_t most) {
  std::vector<std::uint64_t> words(std::min(most, bytes.size() / sizeof(std::uint64_t)));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint64_t));
  bytes.remove_prefix(words.size() * sizeof(std::uint64_t));
  return words;
}

// Combines what a member says itself with what another says.
void combine(Words& mine, const std::vector<std::uint64_t>& theirs) {
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) mine[i] = std::min(mine[i], theirs[i]);
}

// A round without a plan: what the others say in its opening, the proposal and what they answer to it.
void round(std::string_view bytes) {
  NameTable names;
  Agreement agreement({.rank = 1, .size = kRanks}, names);
  std::array<Unit, 2> units;
  units[0].key = names.open("w");
  for (Unit& unit : units) complete(unit), agreement.submit(unit);
  Words opening = agreement.open(false);
  combine(opening, words_of(bytes, opening.size()));
  const auto answers = words_of(bytes, 2 * kAnswerWords);
  try_to_read([&] {
    if (agreement.opened(opening) != Agreement::Opened::Negotiates) return;
    if (agreement.leader() < 0 || agreement.leader() >= kRanks) std::abort();
    Words words = agreement.answer(bytes);
    if (words.size() > 1024) std::abort();  // what a link combines at once
    combine(words, answers);
    const auto outcome = agreement.judged(words);
    for (const Bucket& bucket : outcome.run)
      for (const BucketItem& item : bucket)
        if (!item.unit || !item.unit->agreed) std::abort();
    for (const std::size_t position : outcome.differs) agreement.settle(position);
  });
}

void rows(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t row_bytes = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  const auto told = words_of(bytes, kRanks);
  const std::vector<int> ranks(told.size(), 3);
  const Rows rows = checked_rows(told, row_bytes, ranks);
  std::uint64_t left = std::uint64_t{1} << 63;
  for (const std::int64_t count : rows) {
    const auto size = static_cast<std::uint64_t>(count);
    if (count < 0 || (row_bytes > 0 && size > left / row_bytes)) std::abort();
    left -= size * row_bytes;
  }
  if (total_of(rows) < 0) std::abort();
}

// Where a member says that its GPU is.
void gpu_place(std::string_view bytes) {
  GpuWord word{};
  std::ranges::copy(bytes.substr(0, word.size()), word.begin());
  const std::string_view text = text_of(word);
  if (text.size() > word.size()) std::abort();
  const GpuPlace place = GpuPlace::from_text(text);
  const GpuPlace again = GpuPlace::from_text(place.to_text());
  if (again.rank != place.rank || again.device != place.device || again.bus_id != place.bus_id) std::abort();
}

void stall_answer(std::string_view bytes) {
  const StallAnswer answer = read_answer(std::string(bytes));
  const std::array titles{std::string("one"), std::string("two")};
  const auto all = join_titles(titles);
  find_stalls(all, std::array{answer, answer});
}

void bootstrap(std::string_view bytes) {
  try_to_read([&] { read_hello(bytes); });
  try_to_read([&] { read_blobs(bytes); });
  try_to_read([&] { read_failure(bytes); });
  MessageReader reader(1 << 16);
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    reader.add(bytes.substr(at, 7));
    while (reader.next()) {
    }
  }
}

constexpr auto kTargets = std::to_array<Target>({{"handshake", handshake},
                                                 {"frame", frame},
                                                 {"endpoint", endpoint},
                                                 {"introduction", introduction},
                                                 {"departure", departure},
                                                 {"proposal", proposal},
                                                 {"stall_answer", stall_answer},
                                                 {"bootstrap", bootstrap},
                                                 {"note", note},
                                                 {"round", round},
                                                 {"rows", rows},
                                                 {"gpu_place", gpu_place},
                                                 {"stream", stream}});

}  // namespace

std::span<const Target> comm_targets() {
  return kTargets;
}

}  // namespace ronde::data::fuzz
