#include "ronde/comm/link/tcp/endpoint.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

std::vector<Address> addresses(const std::vector<std::string>& texts) {
  std::vector<Address> parsed;
  for (const std::string& text : texts) parsed.push_back(parse_address(text).value());
  return parsed;
}

// What comes of connecting there: 0, or the error.
int try_connect(const std::string& ip, std::uint16_t port) {
  const FileDescriptor socket = begin_connect(ip, port);
  pollfd ready{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 20'000), 1);
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

TEST(Address, IsAnIpWithAPrefix) {
  EXPECT_EQ(parse_address("10.77.0.1/24"), (Address{"10.77.0.1", 24}));
  EXPECT_EQ(parse_address("10.77.0.1"), (Address{"10.77.0.1", 32}));
  EXPECT_EQ(parse_address("fd00::1/64"), (Address{"fd00::1", 64}));
  EXPECT_EQ(to_text({"fd00::1", 64}), "fd00::1/64");
  for (const char* wrong : {"", "10.77.0", "host", "10.77.0.1/33", "10.77.0.1/", "10.77.0.1/-1", "fd00::1/129", "/24"})
    EXPECT_FALSE(parse_address(wrong)) << wrong;
}

TEST(Endpoint, SurvivesTheTrip) {
  const Endpoint mine{.addresses = addresses({"10.77.0.1/24", "fd00::1/64"}), .port = 4711};
  const ReceivedEndpoint there = read_endpoint(write_endpoint(mine, "secret"));
  EXPECT_EQ(there.endpoint.addresses, mine.addresses);
  EXPECT_EQ(there.endpoint.port, 4711);
  EXPECT_EQ(there.secret, "secret");
}

TEST(Endpoint, WhatIsNoneIsRefused) {
  for (const char* wrong :
       {"", "garbage", "[]", "{}", R"({"addresses":[],"port":5})", R"({"addresses":[],"port":70000,"secret":"s"})",
        R"({"addresses":[],"port":0,"secret":"s"})", R"({"addresses":[],"port":-1,"secret":"s"})",
        R"({"addresses":7,"port":5,"secret":"s"})", R"({"addresses":["host"],"port":5,"secret":"s"})",
        R"({"addresses":[7],"port":5,"secret":"s"})", R"({"addresses":[],"port":5,"secret":7})"})
    EXPECT_THROW(read_endpoint(wrong), Error) << wrong;
}

TEST(Addresses, ThoseOfOurNetworksComeFirst) {
  const auto mine = addresses({"10.1.0.5/24", "192.168.7.1/16", "127.0.0.1/8"});
  EXPECT_EQ(order_addresses(mine, addresses({"127.0.0.1/8", "172.16.0.9/12", "192.168.9.9/16", "10.1.0.6/24"}), false),
            addresses({"10.1.0.6/24", "192.168.9.9/16", "172.16.0.9/12"}));
}

// As text "10.1.1.80" is nearest to ours, and 10.1.1.9 is what our narrow network has.
TEST(Addresses, AreComparedByBitsNotByLetters) {
  const auto mine = addresses({"10.1.1.8/30", "10.1.2.1/24"});
  EXPECT_EQ(order_addresses(mine, addresses({"10.1.1.80/24", "10.1.2.200/24", "10.1.1.9/30"}), false),
            addresses({"10.1.1.9/30", "10.1.2.200/24", "10.1.1.80/24"}));
}

// Every machine with Docker has 172.17.0.1: who calls it gets itself.
TEST(Addresses, OurOwnLeadNowhereElse) {
  const auto mine = addresses({"172.17.0.1/16", "10.1.0.5/24"});
  const auto theirs = addresses({"172.17.0.1/16", "10.1.0.6/24"});
  EXPECT_EQ(order_addresses(mine, theirs, false), addresses({"10.1.0.6/24"}));
  EXPECT_EQ(order_addresses(mine, mine, true).size(), 2u) << "on the same machine they are the way";
}

TEST(Addresses, TheLoopbackIsForTheSameMachine) {
  const auto mine = addresses({"10.1.0.5/24", "127.0.0.1/8"});
  EXPECT_EQ(order_addresses(mine, mine, true).front().ip, "127.0.0.1");
}

TEST(Interface, IsANameANetworkOrABeginning) {
  const Address address{"10.1.2.3", 24};
  for (const char* fits : {"eth0", "ib0, eth0", "10.1.2.3", "10.1.2.", "10.1.", "10.1", "10.0.0.0/8", "10.1.2.0/24"})
    EXPECT_TRUE(matches_interface(fits, "eth0", address)) << fits;
  for (const char* other : {"eth", "eth01", "1", "10.1.2.3/33", "10.2.0.0/16", ",", "fd00::/8"})
    EXPECT_FALSE(matches_interface(other, "eth0", address)) << other;
  EXPECT_FALSE(matches_interface("10.1", "eth0", {"10.100.0.1", 24}));
}

TEST(Listen, AnInterfaceThatIsNotThereIsAMistake) {
  try {
    listen_for_peers("nonsense0", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(std::string(error.what()).find("lo (127.0.0.1)"), std::string::npos) << error.what();
  }
}

// 127.0.0.2 stands for another interface: nobody has asked to be reached there.
TEST(Listen, OnlyWhereTheSettingSays) {
  const Listening listening = listen_for_peers("127.0.0.1", false);
  EXPECT_EQ(try_connect("127.0.0.1", listening.endpoint.port), 0);
  EXPECT_EQ(try_connect("127.0.0.2", listening.endpoint.port), ECONNREFUSED);
}

TEST(Listen, RanksOfOneMachineNeedTheLoopbackAlone) {
  const Listening listening = listen_for_peers("", true);
  ASSERT_FALSE(listening.sockets.empty());
  for (const Address& address : listening.endpoint.addresses)
    EXPECT_EQ(try_connect(address.ip, listening.endpoint.port), 0);
  EXPECT_EQ(try_connect("127.0.0.2", listening.endpoint.port), ECONNREFUSED);
}

}  // namespace
}  // namespace ronde::comm::detail
