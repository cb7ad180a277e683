#include "ronde/comm/link/tcp/endpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <span>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kMostAddresses = 256, kMostSecret = 256;
constexpr int kPortTries = 20;

struct Interface {
  std::string name;
  Address address;
  bool loopback = false;
};

using Bits = std::vector<std::uint8_t>;  // 4 bytes or 16; none: no address

Bits bits_of(const std::string& ip) {
  Bits bits(16);
  if (inet_pton(AF_INET6, ip.c_str(), bits.data()) == 1) return bits;
  bits.resize(4);
  return inet_pton(AF_INET, ip.c_str(), bits.data()) == 1 ? bits : Bits();
}

int common_bits(const Bits& a, const Bits& b) {
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return static_cast<int>(8 * i) + std::countl_zero(static_cast<std::uint8_t>(a[i] ^ b[i]));
  return static_cast<int>(8 * a.size());
}

bool is_loopback(const Address& address) {
  return address.ip.starts_with("127.") || address.ip == "::1";
}

// Of an address of the family at `name`.
int prefix_of(const sockaddr* mask, int family) {
  if (!mask) return family == AF_INET ? 32 : 128;
  const auto* bytes =
      family == AF_INET
          ? reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
          : reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
  int bits = 0;
  for (const std::uint8_t byte : std::span(bytes, family == AF_INET ? 4 : 16)) bits += std::popcount(byte);
  return bits;
}

std::vector<Interface> interfaces_of_machine() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw Error::system(errno, "cannot list the network interfaces");
  std::vector<Interface> found;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP)) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* address = family == AF_INET
                              ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr)
                              : &reinterpret_cast<sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    // A link-local address means something else on every interface.
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(static_cast<const in6_addr*>(address))) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(family, address, text.data(), text.size());
    found.push_back({entry->ifa_name,
                     {text.data(), prefix_of(entry->ifa_netmask, family)},
                     (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return found;
}

// Of an address, or of all there are.
struct SocketName {
  sockaddr_storage storage{};
  socklen_t length = 0;

  SocketName(const std::string& ip, std::uint16_t port) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    if (inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1) {
      v4.sin_family = AF_INET;
      v4.sin_port = htons(port);
      length = sizeof(v4);
    } else {
      inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr);
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(port);
      length = sizeof(v6);
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "::" takes calls of both families. Nothing, and errno, when it cannot be.
FileDescriptor listen_at(const std::string& ip, std::uint16_t port) {
  const SocketName name(ip, port);
  FileDescriptor socket(::socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  const int only_v6 = ip != "::";
  if (name.storage.ss_family == AF_INET6)
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  if (bind(socket.get(), name.get(), name.length) != 0 || listen(socket.get(), SOMAXCONN) != 0) return {};
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length) != 0)
    throw Error::system(errno, "cannot read the address at which this rank listens");
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

// At one port of all of them. The first takes any that is free; another program may have it at the next address.
void listen_at_all(Listening& listening, const std::vector<std::string>& ips) {
  for (int tries = 0;; ++tries) {
    listening.sockets.clear();
    listening.endpoint.port = 0;
    for (const std::string& ip : ips) {
      FileDescriptor socket = listen_at(ip, listening.endpoint.port);
      if (!socket) break;
      listening.endpoint.port = port_of(socket.get());
      listening.sockets.push_back(std::move(socket));
    }
    if (listening.sockets.size() == ips.size()) return;
    if (errno != EADDRINUSE || tries == kPortTries)
      throw Error::system(errno, "cannot listen for ranks of other nodes at {}", ips[listening.sockets.size()]);
  }
}

std::vector<Address> wanted_addresses(const std::string& interfaces, bool only_here) {
  std::vector<Address> wanted;
  std::vector<std::string> seen;
  for (const Interface& one : interfaces_of_machine()) {
    seen.push_back(fmt::format("{} ({})", one.name, one.address.ip));
    if (interfaces.empty() ? one.loopback == only_here : matches_interface(interfaces, one.name, one.address))
      wanted.push_back(one.address);
  }
  if (!wanted.empty()) return wanted;
  if (!interfaces.empty())
    throw Error::bad_input("comm.interface {}: this machine has no such interface; it has {}", interfaces,
                           join(seen, ", "));
  throw Error(Error::Kind::System,
              fmt::format("no network interface that reaches other nodes is up; this machine has {}",
                          seen.empty() ? "none" : join(seen, ", ")));
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  const std::size_t slash = text.find('/');
  Address address{.ip = std::string(text.substr(0, slash))};
  const Bits bits = bits_of(address.ip);
  if (bits.empty()) return {};
  const int most = static_cast<int>(8 * bits.size());
  const auto prefix = slash == text.npos ? most : parse_number<int>(text.substr(slash + 1)).value_or(-1);
  if (prefix < 0 || prefix > most) return {};
  address.prefix = prefix;
  return address;
}

std::string to_text(const Address& address) {
  return fmt::format("{}/{}", address.ip, address.prefix);
}

std::string write_endpoint(const Endpoint& endpoint, const std::string& secret) {
  std::vector<std::string> addresses;
  for (const Address& address : endpoint.addresses) addresses.push_back(to_text(address));
  return nlohmann::json{{"addresses", addresses}, {"port", endpoint.port}, {"secret", secret}}.dump();
}

ReceivedEndpoint read_endpoint(const std::string& text) {
  const auto refuse = [](std::string_view why) {
    return Error(Error::Kind::System, fmt::format("a rank sent an invalid network address: {}", why));
  };
  try {
    const auto json = nlohmann::json::parse(text);
    ReceivedEndpoint told{.endpoint = {}, .secret = json.at("secret").get<std::string>()};
    const auto& port = json.at("port");
    const auto& addresses = json.at("addresses");
    if (!port.is_number_unsigned() || port.get<std::uint64_t>() - 1 > 65534) throw refuse("invalid port");
    if (!addresses.is_array() || addresses.size() > kMostAddresses || told.secret.size() > kMostSecret)
      throw refuse("too many addresses");
    told.endpoint.port = port.get<std::uint16_t>();
    for (const auto& one : addresses) {
      const auto address = parse_address(one.get<std::string>());
      if (!address) throw refuse("invalid address");
      told.endpoint.addresses.push_back(*address);
    }
    return told;
  } catch (const nlohmann::json::exception& error) {
    throw refuse(error.what());
  }
}

bool matches_interface(std::string_view wanted, std::string_view name, const Address& address) {
  return std::ranges::any_of(split(wanted, ','), [&](std::string_view word) {
    word = trim(word);
    if (word.empty()) return false;
    if (word == name || word == address.ip) return true;
    if (const auto network = parse_address(word); network && word.find('/') != word.npos) {
      const Bits theirs = bits_of(network->ip), ours = bits_of(address.ip);
      return theirs.size() == ours.size() && common_bits(theirs, ours) >= network->prefix;
    }
    if (!address.ip.starts_with(word)) return false;
    const auto at_border = [](char c) { return c == '.' || c == ':'; };
    return at_border(word.back()) || at_border(address.ip[word.size()]);
  });
}

Listening listen_for_peers(const std::string& interfaces, bool only_here) {
  Listening listening{.sockets = {}, .endpoint = {.addresses = wanted_addresses(interfaces, only_here)}};
  if (!interfaces.empty() || only_here) {
    std::vector<std::string> ips;
    for (const Address& address : listening.endpoint.addresses) ips.push_back(address.ip);
    listen_at_all(listening, ips);
    return listening;
  }
  try {
    listen_at_all(listening, {"::"});
  } catch (const Error&) {  // a kernel without IPv6
    listen_at_all(listening, {"0.0.0.0"});
  }
  return listening;
}

std::vector<Address> order_addresses(const std::vector<Address>& mine, std::vector<Address> theirs, bool same_machine) {
  constexpr int kInOurs = 1000;  // more than there are bits
  const auto nearness = [&](const Address& address) {
    if (is_loopback(address)) return 3 * kInOurs;
    int best = 0;
    for (const Address& own : mine) {
      const int common = common_bits(bits_of(own.ip), bits_of(address.ip));
      const bool in_ours =
          own.prefix > 0 && common >= own.prefix && bits_of(own.ip).size() == bits_of(address.ip).size();
      best = std::max(best, in_ours ? kInOurs + own.prefix : common);
    }
    return best;
  };
  if (!same_machine)
    std::erase_if(theirs, [&](const Address& address) {
      return is_loopback(address) || std::ranges::find(mine, address.ip, &Address::ip) != mine.end();
    });
  std::ranges::stable_sort(theirs, [&](const auto& a, const auto& b) { return nearness(a) > nearness(b); });
  return theirs;
}

FileDescriptor begin_connect(const std::string& ip, std::uint16_t port) {
  if (bits_of(ip).empty()) throw Error(Error::Kind::System, fmt::format("'{}' is not a network address", ip));
  const SocketName name(ip, port);
  FileDescriptor socket(::socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw Error::system(errno, "cannot make a socket");
  if (connect(socket.get(), name.get(), name.length) != 0 && errno != EINPROGRESS) throw Error::system(errno, "{}", ip);
  return socket;
}

}  // namespace ronde::comm::detail
