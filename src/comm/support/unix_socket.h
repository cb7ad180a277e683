#pragma once

#include <string>

#include <sys/socket.h>
#include <sys/un.h>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/file_descriptor.h"

// Unix domain sockets in the abstract namespace. An address is written "@name".
namespace ronde::comm::support {

struct UnixAddress {
  sockaddr_un name{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// FAILS WITH: BadInput for text that is no such address.
UnixAddress unix_address(const std::string& text);

// An address that nobody else has: 128 random bits.
std::string random_address();

// A socket that never blocks and that programs we start do not inherit.
// FAILS WITH: System.
FileDescriptor make_unix_socket(int type = SOCK_STREAM);

// Connects to whoever listens there; `whom` for messages. While its queue is full, tries again.
// FAILS WITH: System; Timeout when the queue has been full until then.
FileDescriptor connect_unix(const std::string& address, int type, const std::string& whom, const Deadline& until);

// What poll() takes: milliseconds rounded up, so that it does not return a little too early; -1 for ever.
int poll_time(const Deadline& until);

// Whether the process at the other end belongs to our own user.
bool peer_is_ours(int socket);

// The process at the other end, as this one sees it; 0 when it is in another namespace of processes.
int peer_process(int socket);

}  // namespace ronde::comm::support
