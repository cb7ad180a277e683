#include "ronde/comm/socket_bootstrap.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/bootstrap/bootstrap_wire.h"
#include "ronde/comm/support/unix_socket.h"

namespace ronde::comm {
namespace {

using namespace std::chrono_literals;
using Blobs = std::vector<std::string>;

Deadline soon() {
  return Deadline::after(20s);
}

// A connection that follows no protocol.
class RawConnection {
 public:
  explicit RawConnection(const std::string& address) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const support::UnixAddress name = support::unix_address(address);
    EXPECT_EQ(connect(socket_.get(), name.get(), name.length), 0);
  }
  void send(const std::string& bytes) const { ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Whether the server has hung up, without having said anything.
  bool closed_by_server() const {
    char byte = 0;
    return recv(socket_.get(), &byte, 1, 0) <= 0;
  }

 private:
  FileDescriptor socket_;
};

// Calls body(rank) on a thread for each rank, and collects what it returns.
template <class Body>
auto on_ranks(int size, Body body) {
  std::vector<std::future<decltype(body(0))>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::async(std::launch::async, body, rank));
  std::vector<decltype(body(0))> results;
  for (auto& rank : ranks) results.push_back(rank.get());
  return results;
}

// The error of an exchange that must fail.
Error failure_of(Bootstrap& bootstrap, Deadline until = soon()) {
  try {
    bootstrap.exchange("x", until);
  } catch (const Error& error) {
    return error;
  }
  return {Error::Kind::Bug, "the exchange went well"};
}

TEST(SocketBootstrap, EveryoneGetsEverythingManyTimes) {
  for (const int size : {1, 2, 3, 8}) {
    SocketBootstrapServer server(size);
    on_ranks(size, [&](int rank) {
      const auto bootstrap = connect_bootstrap(server.address(), rank, size, soon());
      EXPECT_EQ(bootstrap->rank(), rank);
      EXPECT_EQ(bootstrap->size(), size);
      for (int round = 0; round < 50; ++round) {
        Blobs expected;
        for (int other = 0; other < size; ++other) expected.push_back(fmt::format("{} of {}", round, other));
        EXPECT_EQ(bootstrap->exchange(expected[static_cast<std::size_t>(rank)], soon()), expected);
      }
      return true;
    });
  }
}

TEST(SocketBootstrap, LargeAndEmptyBlobs) {
  SocketBootstrapServer server(3);
  on_ranks(3, [&](int rank) {
    const auto bootstrap = connect_bootstrap(server.address(), rank, 3, soon());
    const std::string mine(rank == 0 ? 0 : 1 << 20, static_cast<char>('0' + rank));
    const Blobs all = bootstrap->exchange(mine, soon());
    EXPECT_TRUE(all[0].empty());
    EXPECT_EQ(all[2], std::string(1 << 20, '2'));
    EXPECT_THROW(bootstrap->exchange(std::string((1 << 20) + 1, 'x'), soon()), Error);
    EXPECT_EQ(bootstrap->exchange("still usable", soon()).size(), 3u);
    return true;
  });
}

TEST(SocketBootstrap, RanksMayDisconnectAndComeAgain) {
  SocketBootstrapServer server(2);
  on_ranks(2, [&](int rank) {
    for (int life = 0; life < 20; ++life) {
      const auto bootstrap = connect_bootstrap(server.address(), rank, 2, soon());
      for (int round = 0; round < 3; ++round) {
        const std::string same = fmt::format("{} {}", life, round);
        EXPECT_EQ(bootstrap->exchange(same, soon()), (Blobs{same, same}));
      }
    }
    return true;
  });
}

TEST(SocketBootstrap, ATimeoutNamesWhoDidNotCome) {
  SocketBootstrapServer server(3);
  const auto bootstrap = connect_bootstrap(server.address(), 1, 3, soon());
  const Error error = failure_of(*bootstrap, Deadline::after(50ms));
  EXPECT_EQ(error.kind(), Error::Kind::Timeout);
  EXPECT_EQ(error.ranks(), (std::vector<int>{0, 2}));
  EXPECT_NE(error.message().find("ranks 0, 2 did not arrive; rank 1 waited"), std::string::npos) << error.message();
}

TEST(SocketBootstrap, ARankWhoseProcessEndsFailsTheOthers) {
  SocketBootstrapServer server(3);
  const auto errors = on_ranks(3, [&](int rank) -> std::optional<Error> {
    const auto bootstrap = connect_bootstrap(server.address(), rank, 3, soon());
    bootstrap->exchange("all here", soon());
    if (rank != 1) return failure_of(*bootstrap);
    server.rank_ended(1, "signal 9 (killed)");
    return {};
  });
  for (const int survivor : {0, 2}) {
    const auto& error = errors[static_cast<std::size_t>(survivor)];
    EXPECT_EQ(error->kind(), Error::Kind::PeerLost);
    EXPECT_EQ(error->ranks(), std::vector<int>{1});
    EXPECT_NE(error->message().find("rank 1 is gone (signal 9 (killed))"), std::string::npos) << error->message();
  }
}

TEST(SocketBootstrap, AConnectionThatClosesWithoutAWordFailsTheOthers) {
  SocketBootstrapServer server(2);
  auto raw = std::make_optional<RawConnection>(server.address());
  raw->send(detail::pack({detail::MessageType::Hello, detail::write_hello({1, 2})}));
  const auto bootstrap = connect_bootstrap(server.address(), 0, 2, soon());
  auto error = std::async(std::launch::async, [&] { return failure_of(*bootstrap); });
  raw.reset();
  EXPECT_EQ(error.get().ranks(), std::vector<int>{1});
}

TEST(SocketBootstrap, NonsenseIsThrownOutAndNobodyElseNotices) {
  SocketBootstrapServer server(2);
  const std::string give = detail::pack({detail::MessageType::Give, "x"});
  for (const std::string& nonsense : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\xff'), give,
                                      std::string(1000, '\0'), detail::pack({detail::MessageType::Hello, "short"})}) {
    const RawConnection raw(server.address());
    raw.send(nonsense);
    EXPECT_TRUE(raw.closed_by_server()) << nonsense.substr(0, 20);
  }
  std::vector<std::unique_ptr<RawConnection>> silent;  // more than the server keeps
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<RawConnection>(server.address()));
  on_ranks(2, [&](int rank) {
    const auto bootstrap = connect_bootstrap(server.address(), rank, 2, soon());
    EXPECT_EQ(bootstrap->exchange("fine", soon()), (Blobs{"fine", "fine"}));
    return true;
  });
}

TEST(SocketBootstrap, ARankMayNotConnectTwice) {
  SocketBootstrapServer server(2);
  const auto first = connect_bootstrap(server.address(), 0, 2, soon());
  try {
    connect_bootstrap(server.address(), 0, 2, soon());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "bootstrap: rank 0 was refused: another process is connected as this rank");
  }
}

TEST(SocketBootstrap, SaysWhenTheLauncherIsGone) {
  auto server = std::make_unique<SocketBootstrapServer>(2);
  const std::string address = server->address();
  const auto bootstrap = connect_bootstrap(address, 0, 2, soon());
  auto error = std::async(std::launch::async, [&] { return failure_of(*bootstrap); });
  std::this_thread::sleep_for(20ms);
  server.reset();
  EXPECT_EQ(error.get().kind(), Error::Kind::PeerLost);
  EXPECT_THROW(connect_bootstrap(address, 0, 2, soon()), Error);
}

TEST(SocketBootstrap, LetsNobodyInButOurOwnUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else for a moment";
  SocketBootstrapServer server(1);
  const pid_t stranger = fork();
  if (stranger == 0) {
    constexpr uid_t kNobody = 65534;
    const support::UnixAddress name = support::unix_address(server.address());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    char byte = 0;
    const bool became = setuid(kNobody) == 0 && connect(socket, name.get(), name.length) == 0;
    _exit(became && recv(socket, &byte, 1, 0) <= 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(connect_bootstrap(server.address(), 0, 1, soon())->size(), 1);
}

TEST(BootstrapFrom, OneRankWithoutALauncherAndTheSocketUnderOne) {
  const auto alone = bootstrap_from(Environment{{"RANK", "3"}}, soon());
  EXPECT_EQ(alone->size(), 1);
  EXPECT_EQ(alone->exchange("me", soon()), Blobs{"me"});
  SocketBootstrapServer server(2);
  const auto ranks = on_ranks(2, [&](int rank) {
    const Environment environment{
        {"RONDE__BOOTSTRAP", server.address()}, {"RONDE__RANK", std::to_string(rank)}, {"RONDE__SIZE", "2"}};
    return bootstrap_from(environment, soon())->exchange(std::to_string(rank), soon());
  });
  for (const Blobs& blobs : ranks) EXPECT_EQ(blobs, (Blobs{"0", "1"}));
}

TEST(BootstrapFrom, HalfAnEnvironmentIsRefused) {
  EXPECT_THROW(bootstrap_from(Environment{{"RONDE__RANK", "0"}}, soon()), Error);
  const auto with_rank = [](const char* rank) {
    return Environment{{"RONDE__BOOTSTRAP", "@nobody-is-here"}, {"RONDE__RANK", rank}, {"RONDE__SIZE", "2"}};
  };
  for (const char* rank : {"", "x", "-1", "1x"}) {
    try {
      bootstrap_from(with_rank(rank), soon());
      FAIL() << rank;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput) << error.what();
    }
  }
  EXPECT_THROW(connect_bootstrap("no address", 0, 1, soon()), Error);
  EXPECT_THROW(bootstrap_from(with_rank("0"), soon()), Error) << "nobody serves there";
}

}  // namespace
}  // namespace ronde::comm
