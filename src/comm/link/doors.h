#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/base/file_descriptor.h"

// How ranks of different nodes reach each other by TCP.
namespace ronde::comm::detail {

// Where a rank listens.
struct Door {
  std::vector<std::string> addresses;  // of the interfaces of its machine
  std::uint16_t port = 0;
};

struct OpenDoor {
  FileDescriptor listener;
  Door door;
};

// Listens at a free port of all interfaces. `interfaces`: names ("eth0,ib0") or the beginning of addresses ("10.1.");
// empty: all that are up. The loopback comes last. FAILS WITH: BadInput when none fits; System.
OpenDoor open_door(const std::string& interfaces);

// The order in which addresses are worth trying from a machine that has `mine`: those that share the longest beginning
// with one of ours first; the loopback only on the same machine, and there first. Pure.
std::vector<std::string> order_addresses(const std::vector<std::string>& mine, std::vector<std::string> theirs,
                                         bool same_machine);

// Begins to connect, and does not wait. FAILS WITH: System.
FileDescriptor begin_connect(const std::string& address, std::uint16_t port);

// Small messages go at once; a peer whose machine or network has gone is noticed after about `seconds`, also while
// nothing is sent: the kernels of both sides look after that, and no process is woken.
void prepare_connection(int socket, int seconds);

}  // namespace ronde::comm::detail
