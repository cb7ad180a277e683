#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/system/file_descriptor.h"

// Where ranks of different nodes reach each other by TCP.
namespace ronde::comm::detail {

// Of an interface, with the length of its network's prefix.
struct Address {
  std::string ip;  // "10.77.0.1", as inet_ntop() writes it
  int prefix = 0;  // bits
  friend bool operator==(const Address&, const Address&) = default;
};

// "10.77.0.1/24"; nothing for text that is no address.
std::optional<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

// Where a rank listens.
struct Endpoint {
  std::vector<Address> addresses;  // of its machine
  std::uint16_t port = 0;
};

// What a rank tells the others about its endpoint. Pure.
std::string write_endpoint(const Endpoint& endpoint, const std::string& secret);
struct ReceivedEndpoint {
  Endpoint endpoint;
  std::string secret;
};
// FAILS WITH: System for text that is none.
ReceivedEndpoint read_endpoint(const std::string& text);

// What comm.interface says: names ("eth0,ib0"), networks ("10.1.0.0/16"), whole addresses, or their beginnings up to a
// dot ("10.1." or "10.1"). Pure.
bool matches_interface(std::string_view wanted, std::string_view name, const Address& address);

struct Listening {
  std::vector<FileDescriptor> sockets;
  Endpoint endpoint;
};

// Listens at a free port. `interfaces`: see matches_interface(), and nowhere else; empty: all that are up.
// `only_here`: nobody calls from another machine, so the loopback is enough where nothing else is wanted.
// FAILS WITH: BadInput when no interface fits; System.
Listening listen_for_peers(const std::string& interfaces, bool only_here);

// The order in which addresses are worth trying from a machine that has `mine`: those in a network of ours first, the
// narrowest before others; then by how many bits they share with ours. Between machines the loopback is left out, and
// so is an address that we have ourselves: it would lead to us (each machine with Docker has 172.17.0.1). Pure.
std::vector<Address> order_addresses(const std::vector<Address>& mine, std::vector<Address> theirs, bool same_machine);

// Begins to connect, and does not wait. FAILS WITH: System.
FileDescriptor begin_connect(const std::string& ip, std::uint16_t port);

}  // namespace ronde::comm::detail
