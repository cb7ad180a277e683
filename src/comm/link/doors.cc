#include "ronde/comm/link/doors.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/base/text.h"

namespace ronde::comm::detail {
namespace {

struct Interface {
  std::string name;
  std::string address;
  bool loopback = false;
};

std::vector<Interface> interfaces_of_machine() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw Error::system(errno, "cannot list the network interfaces");
  std::vector<Interface> found;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP)) continue;
    const bool v4 = entry->ifa_addr->sa_family == AF_INET, v6 = entry->ifa_addr->sa_family == AF_INET6;
    if (!v4 && !v6) continue;
    const void* address = v4 ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr)
                             : &reinterpret_cast<sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    // A link-local address means something else on every interface.
    if (v6 && IN6_IS_ADDR_LINKLOCAL(static_cast<const in6_addr*>(address))) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(entry->ifa_addr->sa_family, address, text.data(), text.size());
    found.push_back({entry->ifa_name, text.data(), (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  std::ranges::stable_partition(found, [](const Interface& one) { return !one.loopback; });
  return found;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

FileDescriptor listen_on(int family) {
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (family == AF_INET6) {
    const int no = 0;
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0) return {};
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0) return {};
  }
  if (listen(socket.get(), SOMAXCONN) != 0) return {};
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length) != 0)
    throw Error::system(errno, "cannot see where this rank listens");
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

std::size_t common_beginning(const std::string& a, const std::string& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

OpenDoor open_door(const std::string& interfaces) {
  OpenDoor open;
  std::vector<std::string> seen;
  for (const Interface& one : interfaces_of_machine()) {
    seen.push_back(fmt::format("{} ({})", one.name, one.address));
    const bool wanted = interfaces.empty() || std::ranges::any_of(split(interfaces, ','), [&](std::string_view word) {
                          return one.name == trim(word) || one.address.starts_with(trim(word));
                        });
    if (wanted || one.loopback) open.door.addresses.push_back(one.address);
  }
  if (!interfaces.empty() && std::ranges::all_of(open.door.addresses, is_loopback))
    throw Error::bad_input("comm.interface {}: this machine has no such interface; it has {}", interfaces,
                           join(seen, ", "));
  open.listener = listen_on(AF_INET6);
  if (!open.listener) open.listener = listen_on(AF_INET);
  if (!open.listener) throw Error::system(errno, "cannot listen for ranks of other nodes");
  open.door.port = port_of(open.listener.get());
  return open;
}

std::vector<std::string> order_addresses(const std::vector<std::string>& mine, std::vector<std::string> theirs,
                                         bool same_machine) {
  const auto nearness = [&](const std::string& address) -> std::size_t {
    if (is_loopback(address)) return same_machine ? 1000 : 0;
    std::size_t best = 0;
    for (const std::string& own : mine) best = std::max(best, common_beginning(own, address));
    return best;
  };
  if (!same_machine) std::erase_if(theirs, is_loopback);
  std::ranges::stable_sort(theirs, [&](const auto& a, const auto& b) { return nearness(a) > nearness(b); });
  return theirs;
}

FileDescriptor begin_connect(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw Error(Error::Kind::System, fmt::format("'{}' is no network address", address));
  FileDescriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int failed = socket && connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ? errno : 0;
  freeaddrinfo(found);
  if (!socket) throw Error::system(errno, "cannot make a socket");
  if (failed != 0 && failed != EINPROGRESS) throw Error::system(failed, "{}", address);
  return socket;
}

void prepare_connection(int socket, int seconds) {
  const auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, std::max(1, seconds - 1));
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
}

}  // namespace ronde::comm::detail
