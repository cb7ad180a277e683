#include "comm_targets.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ronde/base/error.h"
#include "ronde/comm/agree/negotiation.h"
#include "ronde/comm/bootstrap/bootstrap_wire.h"
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
  ListenerHandshake listener("secret", 1, kRanks, sha256("listener"));
  for (std::string_view rest = bytes.substr(1); !rest.empty();) {
    const std::size_t part = std::min(cut, rest.size());
    if (listener.add(rest.substr(0, part)).size() > CallerHandshake::kChallengeBytes) std::abort();
    rest.remove_prefix(part);
  }
  if (listener.state() == ListenerHandshake::State::Accepted) std::abort();
  if (bytes.size() < CallerHandshake::kChallengeBytes) return;
  const CallerHandshake caller("secret", {.from = 2, .to = 1}, sha256("caller"));
  if (!caller.answer(bytes.substr(0, CallerHandshake::kChallengeBytes)).empty()) std::abort();
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
  if (departure.rank >= 0 && read_departure(write_departure(departure)).rank != departure.rank) std::abort();
}

void proposal(std::string_view bytes) {
  try_to_read([&] {
    const Proposal found = read_proposal(bytes);
    for (const auto& entry : found.entries)
      for (const Description& description : entry.content) to_text(description);
    write_proposal(found);
  });
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
                                                 {"bootstrap", bootstrap}});

}  // namespace

std::span<const Target> comm_targets() {
  return kTargets;
}

}  // namespace ronde::data::fuzz
