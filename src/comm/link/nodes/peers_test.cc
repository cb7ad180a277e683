#include "ronde/comm/link/nodes/peers.h"

#include <exception>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "ronde/base/error.h"
#include "ronde/comm/link/tcp/introduction.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/comm/support/unix_socket.h"

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;

const ConnectOptions kConnectOptions{.arena_bytes = 1 << 20};

TEST(Introduction, SurvivesTheTrip) {
  const Introduction there =
      read_introduction(write_introduction({"b2", "id b2", "@x", 77, "0-3", "id", {{"30:7", 1.5}, {"30:1", 4.0}}}));
  EXPECT_EQ(there.host, "b2");
  EXPECT_EQ(there.node, "id b2");
  EXPECT_EQ(there.address, "@x");
  EXPECT_EQ(there.pid, 77);
  EXPECT_EQ(there.cpus, "0-3");
  EXPECT_EQ(there.machine, "id");
  EXPECT_EQ(there.quotas, (std::vector<topology::CpuQuota>{{"30:7", 1.5}, {"30:1", 4.0}}));
  for (const char* wrong :
       {"garbage", "{}", "[]", R"({"host":1,"node":"n","address":"@x","pid":7,"cpus":"0","machine":"m","quotas":[]})",
        R"({"host":"h","node":"n","address":"@x","pid":"7","cpus":"0","machine":"m","quotas":[]})"})
    EXPECT_THROW(read_introduction(wrong), Error) << wrong;
}

TEST(Identity, RanksShareMemoryWhenMachineNetworkAndHostNameAreTheSame) {
  const Identity mine = identify("boot", "net:[1]", "b2");
  EXPECT_EQ(identify("boot", "net:[1]", "b2").node, mine.node);
  EXPECT_NE(identify("other boot", "net:[1]", "b2").node, mine.node);
  EXPECT_NE(identify("boot", "net:[2]", "b2").node, mine.node) << "their Unix sockets do not reach each other";
  EXPECT_NE(identify("boot", "net:[1]", "b3").node, mine.node);
}

TEST(Identity, TheLoopbackLeadsToRanksOfOneNetworkNamespace) {
  EXPECT_EQ(identify("boot", "net:[1]", "b2").machine, identify("boot", "net:[1]", "b3").machine);
  EXPECT_NE(identify("boot", "net:[1]", "b2").machine, identify("boot", "net:[2]", "b2").machine);
  EXPECT_NE(identify("", "net:[1]", "b2").machine, identify("", "net:[1]", "b3").machine);
}

class FullQueue : public testing::Test {
 protected:
  FullQueue() {
    const support::UnixAddress name = support::unix_address(address_);
    EXPECT_EQ(bind(listener_.get(), name.get(), name.length), 0);
    EXPECT_EQ(listen(listener_.get(), 0), 0);
    for (;;) {
      FileDescriptor socket = support::make_unix_socket(SOCK_SEQPACKET);
      if (connect(socket.get(), name.get(), name.length) != 0) break;
      queued_.push_back(std::move(socket));
    }
    EXPECT_EQ(errno, EAGAIN);
  }

  const std::string address_ = support::random_address();
  FileDescriptor listener_ = support::make_unix_socket(SOCK_SEQPACKET);
  std::vector<FileDescriptor> queued_;
};

TEST_F(FullQueue, IsTriedAgainUntilThereIsRoom) {
  std::jthread accepts([&] {
    std::this_thread::sleep_for(50ms);
    FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  });
  EXPECT_TRUE(support::connect_unix(address_, SOCK_SEQPACKET, "rank 1", Deadline::after(20s)));
}

TEST_F(FullQueue, IsNotTriedForEver) {
  try {
    support::connect_unix(address_, SOCK_SEQPACKET, "rank 1", Deadline::after(50ms));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Timeout);
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
  }
}

class Meet : public testing::TestWithParam<int> {};

TEST_P(Meet, EveryoneSeesEveryonesArena) {
  const int size = GetParam();
  SocketBootstrapServer server(size);
  std::vector<std::jthread> ranks;
  for (int r = 0; r < size; ++r)
    ranks.emplace_back([&, r] {
      auto bootstrap = connect_bootstrap(server.address(), r, size, Deadline::after(20s));
      Peers mine = connect_peers(*bootstrap, kConnectOptions, Deadline::after(20s));
      ASSERT_EQ(mine.node->size(), size);
      ASSERT_EQ(mine.node->rank(), r);
      std::byte* shared = mine.node->arena().allocate(64);
      const auto offset = std::to_string(*mine.node->arena().offset_of(shared, 64));
      *shared = static_cast<std::byte>(r + 1);
      const auto offsets = bootstrap->exchange(offset, Deadline::after(20s));
      for (int peer = 0; peer < size; ++peer)
        EXPECT_EQ(mine.node->base(peer)[std::stoul(offsets[static_cast<std::size_t>(peer)])],
                  static_cast<std::byte>(peer + 1));
      bootstrap->exchange("", Deadline::after(20s));  // nobody leaves while others still look
    });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Meet, testing::Values(1, 2, 3, 8));

TEST(Meet, ASocketClosesWhenItsRankIsGone) {
  SocketBootstrapServer server(2);
  std::jthread other([&] {
    auto bootstrap = connect_bootstrap(server.address(), 1, 2, Deadline::after(20s));
    connect_peers(*bootstrap, kConnectOptions, Deadline::after(20s));
  });
  auto bootstrap = connect_bootstrap(server.address(), 0, 2, Deadline::after(20s));
  const Peers mine = connect_peers(*bootstrap, kConnectOptions, Deadline::after(20s));
  pollfd socket{.fd = mine.sockets[1].get(), .events = POLLIN | POLLRDHUP, .revents = 0};
  EXPECT_EQ(poll(&socket, 1, 20'000), 1);
  EXPECT_TRUE(socket.revents & (POLLHUP | POLLRDHUP));
}

TEST(Meet, ARankThatDoesNotComeIsNamed) {
  SocketBootstrapServer server(2);
  auto bootstrap = connect_bootstrap(server.address(), 0, 2, Deadline::after(20s));
  try {
    connect_peers(*bootstrap, kConnectOptions, Deadline::after(50ms));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Timeout) << error.what();
    EXPECT_NE(std::string(error.what()).find("1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ronde::comm::detail
