#include "ronde/comm/link/tcp/mesh.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;

SharedBuffer shared_buffer_of(const std::string& text) {
  SharedBuffer buffer(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}
std::string text_of(const SharedBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

// A job of ranks that listen there.
std::shared_ptr<const Directory> job_of(const std::vector<Endpoint>& endpoints) {
  auto job = std::make_shared<Directory>();
  for (std::size_t rank = 0; rank < endpoints.size(); ++rank)
    job->add({.host = "b", .node = std::to_string(rank), .machine = "m", .pid = 7, .endpoint = endpoints[rank]});
  return job;
}

// Ranks that share this thread: each moves on when the others wait.
class Meshes : public testing::Test {
 protected:
  void open(int ranks, const std::vector<std::string>& secrets = {}, Mesh::Options options = {}) {
    std::vector<Listening> listening;
    for (int rank = 0; rank < ranks; ++rank) {
      listening.push_back(listen_for_peers("127.0.0.1", true));
      endpoints_.push_back(listening.back().endpoint);
      if (first_address_) endpoints_.back().addresses.insert(endpoints_.back().addresses.begin(), *first_address_);
    }
    options.job = job_of(endpoints_);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      options.rank = rank;
      options.secret = index < secrets.size() ? secrets[index] : "secret";
      meshes_.push_back(std::make_unique<Mesh>(std::move(listening[index].sockets), options));
      meshes_.back()->listen(
          {.noted = [this, rank](int from,
                                 std::string_view text) { notes_.push_back({rank, from, std::string(text)}); },
           .lost = [this, rank](int peer, const std::string& how) { lost_.push_back({rank, peer, how}); }});
    }
  }
  Mesh& mesh(int rank) { return *meshes_[static_cast<std::size_t>(rank)]; }

  template <class Condition>
  bool until(Condition condition) {
    const Deadline end = Deadline::after(20s);
    while (!condition() && !end.passed()) {
      for (const auto& one : meshes_)
        if (one) one->pump();
    }
    return condition();
  }

  struct Word {
    int at, about;
    std::string text;
  };
  // Somebody who connects to a rank, whoever it is.
  FileDescriptor connect_to(int rank) {
    FileDescriptor socket = begin_connect("127.0.0.1", endpoints_[static_cast<std::size_t>(rank)].port);
    pollfd ready{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    EXPECT_EQ(poll(&ready, 1, 5000), 1);
    return socket;
  }
  // One that goes through the handshake as a rank.
  FileDescriptor connect_as(int from, int to) {
    FileDescriptor socket = connect_to(to);
    const CallerHandshake handshake("secret", {.from = from, .to = to}, support::random_bytes());
    say(socket, handshake.hello());
    say(socket, handshake.answer(hear(socket, CallerHandshake::kChallengeBytes)));
    EXPECT_EQ(hear(socket, 1), std::string(1, CallerHandshake::kWelcome));
    return socket;
  }
  static void say(const FileDescriptor& socket, std::string_view bytes) {
    EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  static void say(const FileDescriptor& socket, const FrameHeader& header) {
    say(socket, std::string_view(reinterpret_cast<const char*>(&header), sizeof(header)));
  }
  std::string hear(const FileDescriptor& socket, std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    EXPECT_TRUE(until([&] {
      const ssize_t more = recv(socket.get(), text.data() + got, bytes - got, MSG_DONTWAIT);
      got += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
      return got == bytes;
    }));
    return text;
  }
  bool is_hung_up(const FileDescriptor& socket) {
    char byte = 0;
    return until([&] { return recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET; });
  }

  std::optional<Address> first_address_;  // of everyone, before the one where it listens
  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<Mesh>> meshes_;
  std::vector<Word> notes_, lost_;
};

TEST_F(Meshes, MessagesOfATagComeInTheirOrderWhoeverIsFirst) {
  open(2);
  const Tag tag{.channel = 7, .lane = 3}, other{.channel = 7, .lane = 4};
  const PendingMessage early = mesh(0).send(1, tag, shared_buffer_of("first"));
  mesh(0).send(1, other, shared_buffer_of("elsewhere"));
  mesh(0).send(1, tag, shared_buffer_of("second"));
  EXPECT_TRUE(until([&] { return mesh(1).waiting(0, other); }));
  const SharedBuffer one(5), two(6), three(9), late(4);
  const PendingMessage got_one = mesh(1).receive(0, tag, one), got_two = mesh(1).receive(0, tag, two);
  const PendingMessage got_late = mesh(1).receive(0, tag, late), got_three = mesh(1).receive(0, other, three);
  EXPECT_TRUE(until([&] { return got_one->done && got_two->done && got_three->done && early->done; }));
  EXPECT_EQ(text_of(one), "first");
  EXPECT_EQ(text_of(two), "second");
  EXPECT_EQ(text_of(three), "elsewhere");
  EXPECT_FALSE(got_late->done);
  mesh(0).send(1, tag, shared_buffer_of("late"));
  EXPECT_TRUE(until([&] { return got_late->done; }));
  EXPECT_EQ(text_of(late), "late");
}

TEST_F(Meshes, LargeAndEmptyMessagesBothWaysAtOnce) {
  open(2);
  std::string large(20'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>('a' + i % 23);
  const Tag tag{};
  std::vector<PendingMessage> messages;
  std::vector<SharedBuffer> got;
  for (const int from : {0, 1}) {
    for (const std::string& text : {large, std::string(), std::string("end")}) {
      messages.push_back(mesh(from).send(1 - from, tag, shared_buffer_of(text)));
      got.emplace_back(text.size());
      messages.push_back(mesh(1 - from).receive(from, tag, got.back()));
    }
  }
  EXPECT_TRUE(
      until([&] { return std::ranges::all_of(messages, [](const PendingMessage& one) { return one->done; }); }));
  EXPECT_EQ(text_of(got[0]), large);
  EXPECT_EQ(text_of(got[3]), large);
  EXPECT_EQ(text_of(got[5]), "end");
}

TEST_F(Meshes, WhatARankSaidLastIsHeardBeforeItsEnd) {
  open(2);
  mesh(0).note(1, "hello");
  mesh(1).note(0, "hello");
  EXPECT_TRUE(until([&] { return notes_.size() == 2; }));
  mesh(1).note(0, "good bye");
  mesh(1).flush(Deadline::after(1s));
  meshes_[1].reset();
  EXPECT_TRUE(until([&] { return !lost_.empty(); }));
  ASSERT_EQ(notes_.size(), 3u);
  EXPECT_EQ(notes_.back().text, "good bye");
  EXPECT_EQ(lost_.front().about, 1);
  mesh(0).note(1, "to nobody");
  mesh(0).send(1, {}, shared_buffer_of("to nobody"));
  EXPECT_TRUE(until([&] { return true; }));
  EXPECT_EQ(lost_.size(), 1u) << "once";
}

TEST_F(Meshes, WhoDoesNotKnowTheSecretIsThrownOut) {
  open(2, {"one secret", "another secret"});
  mesh(0).note(1, "let me in");
  EXPECT_TRUE(until([&] { return !lost_.empty(); }));
  EXPECT_EQ(lost_.front().at, 0);
  EXPECT_NE(lost_.front().text.find("another program answers there"), std::string::npos) << lost_.front().text;
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Meshes, GarbageIsThrownOutAndOthersDoNotNotice) {
  open(2);
  const FileDescriptor connection = connect_to(1);
  say(connection, std::string(1000, 'G'));
  EXPECT_TRUE(is_hung_up(connection));
  mesh(0).note(1, "still there?");
  EXPECT_TRUE(until([&] { return notes_.size() == 1; }));
  EXPECT_TRUE(lost_.empty());
}

TEST_F(Meshes, APeerThatIsNotThereIsNamedWithWhatWasTried) {
  open(2);
  meshes_[1].reset();
  try {
    mesh(0).meet({1}, {}, Deadline::after(20s));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::PeerLost);
    EXPECT_NE(std::string(error.what()).find("rank 1 on b (pid 7): it cannot be reached: 127.0.0.1 port"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Meshes, WhoDoesNotCallIsNamed) {
  open(2);
  try {
    mesh(0).meet({}, {1}, Deadline::after(50ms));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Timeout);
    EXPECT_NE(std::string(error.what()).find("rank 1 on b (pid 7) has not connected"), std::string::npos)
        << error.what();
  }
}

TEST_F(Meshes, WhatAPeerAnnouncesIsCheckedBeforeItIsBelieved) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const std::vector<std::pair<FrameHeader, std::string>> wrong{
      {{.magic = 7}, "invalid start of a message"},
      {{.kind = static_cast<FrameKind>(1)}, "unknown kind of message 1"},
      {{.kind = FrameKind::Message, .tag = {.channel = 0, .lane = Tag::kLanes}}, "unknown lane 32"},
      {{.kind = FrameKind::Message, .bytes = kHuge}, "announced a message"},
      {{.kind = FrameKind::Note, .bytes = std::uint64_t{1} << 30}, "announced a message"}};
  open(static_cast<int>(wrong.size()) + 1);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const int rank = static_cast<int>(i) + 1;
    const FileDescriptor peer = connect_as(rank, 0);
    say(peer, wrong[i].first);
    EXPECT_TRUE(is_hung_up(peer)) << wrong[i].second;
    ASSERT_EQ(lost_.size(), i + 1);
    EXPECT_EQ(lost_.back().about, rank);
    EXPECT_NE(lost_.back().text.find(wrong[i].second), std::string::npos) << lost_.back().text;
  }
}

TEST_F(Meshes, AMessageOfAnotherLengthThanExpectedIsTheEndOfItsSender) {
  open(3);
  const PendingMessage asked = mesh(0).receive(1, {}, SharedBuffer(8));
  mesh(1).send(0, {}, shared_buffer_of("five!"));
  const auto lost_by_0 = [&](int peer) {
    const auto found =
        std::ranges::find_if(lost_, [peer](const Word& one) { return one.at == 0 && one.about == peer; });
    return found == lost_.end() ? std::string() : found->text;
  };
  EXPECT_TRUE(until([&] { return !lost_by_0(1).empty(); }));
  EXPECT_EQ(lost_by_0(1), "it sent 5 bytes where 8 were expected");
  mesh(2).send(0, {}, shared_buffer_of("five!"));
  EXPECT_TRUE(until([&] { return mesh(0).waiting(2, {}); }));
  EXPECT_FALSE(mesh(0).receive(2, {}, SharedBuffer(8))->done);
  EXPECT_EQ(lost_by_0(2), "it sent 5 bytes where 8 were expected");
  EXPECT_FALSE(asked->done);
}

TEST_F(Meshes, WhoSaysNothingIsThrownOutAfterAWhile) {
  open(2, {}, {.peer_timeout = 1s});
  const FileDescriptor silent = connect_to(1), slow = connect_to(1);
  say(slow, "half");
  EXPECT_TRUE(is_hung_up(silent));
  EXPECT_TRUE(is_hung_up(slow));
}

TEST_F(Meshes, UnverifiedConnectionsAreFewAndDoNotKeepRanksOut) {
  open(2, {}, {.peer_timeout = 20s, .most_unverified = 3});
  std::vector<FileDescriptor> unverified;
  for (int i = 0; i < 20; ++i) unverified.push_back(connect_to(1));
  EXPECT_TRUE(is_hung_up(unverified.front())) << "long before its time is over";
  mesh(0).note(1, "let me in");
  EXPECT_TRUE(until([&] { return notes_.size() == 1; }));
  EXPECT_TRUE(lost_.empty());
}

// It had no room for us, or was stopped for so long that our time with it was over.
TEST_F(Meshes, WhoIsHungUpOnCallsAgain) {
  open(2);
  Listening busy = listen_for_peers("127.0.0.1", true);
  const Mesh::Options options{.rank = 0, .job = job_of({endpoints_[0], busy.endpoint}), .secret = "secret"};
  Mesh caller(listen_for_peers("127.0.0.1", true).sockets, options);
  caller.note(1, "hello");
  for (int times = 0; times < 3; ++times) {
    FileDescriptor socket;
    EXPECT_TRUE(until([&] {
      caller.pump();
      if (!socket) socket = FileDescriptor(accept4(busy.sockets.front().get(), nullptr, nullptr, SOCK_CLOEXEC));
      return static_cast<bool>(socket);
    }));
  }
}

// An address that many machines have, say, where something else listens and waits for its callers to speak.
TEST_F(Meshes, AnAddressThatDoesNotAnswerIsGivenUpForTheNext) {
  first_address_ = Address{"127.0.0.2", 32};
  open(2, {}, {.peer_timeout = 1s});
  FileDescriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(endpoints_[1].port);
  inet_pton(AF_INET, "127.0.0.2", &name.sin_addr);
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::listen(silent.get(), 5), 0);
  mesh(0).note(1, "hello");
  EXPECT_TRUE(until([&] { return notes_.size() == 1; }));
  EXPECT_TRUE(lost_.empty());
}

// As if the machine behind a socket lost its power: nothing that comes to it is answered.
void cut_off(const FileDescriptor& socket) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog filter{.len = 1, .filter = &nothing};
  ASSERT_EQ(setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)), 0);
}

TEST_F(Meshes, AMachineThatDiesBetweenItsProofAndItsWelcomeIsLost) {
  open(2);
  Listening there = listen_for_peers("127.0.0.1", true);
  const Mesh::Options options{
      .rank = 0, .job = job_of({endpoints_[0], there.endpoint}), .secret = "secret", .peer_timeout = 1s};
  meshes_[0] = std::make_unique<Mesh>(listen_for_peers("127.0.0.1", true).sockets, options);
  mesh(0).listen(
      {.noted = nullptr, .lost = [this](int peer, const std::string& how) { lost_.push_back({0, peer, how}); }});
  mesh(0).note(1, "hello");
  FileDescriptor socket;
  EXPECT_TRUE(until([&] {
    if (!socket) socket = FileDescriptor(accept4(there.sockets.front().get(), nullptr, nullptr, SOCK_CLOEXEC));
    return static_cast<bool>(socket);
  }));
  ListenerHandshake handshake("secret", 1, 2, support::random_bytes());
  say(socket, handshake.add(hear(socket, handshake.wants())));
  std::this_thread::sleep_for(100ms);  // until the caller's kernel has taken that, and said so
  cut_off(socket);
  EXPECT_TRUE(until([&] { return !lost_.empty(); }));
  EXPECT_EQ(lost_.front().text, "its machine has not answered for 1 s");
}

// A debugger, or SIGSTOP: its kernel answers, and tells that there is no room.
TEST_F(Meshes, ARankThatIsStoppedWhileMuchIsSentToItIsNotTakenForDead) {
  open(2, {}, {.peer_timeout = 1s});
  const std::string large(64 << 20, 'x');
  mesh(0).note(1, "hello");
  EXPECT_TRUE(until([&] { return notes_.size() == 1; }));
  const PendingMessage sent = mesh(0).send(1, {}, shared_buffer_of(large));
  const SharedBuffer got(large.size());
  const PendingMessage received = mesh(1).receive(0, {}, got);
  for (const Deadline stopped = Deadline::after(6s); !stopped.passed();) {
    mesh(0).pump();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(sent->done) << "it has been stopped in the middle";
  EXPECT_TRUE(until([&] { return received->done; }));
  EXPECT_TRUE(lost_.empty());
  EXPECT_TRUE(text_of(got) == large);
}

// With timers set, descriptor() is what wakes: nobody has to look again and again.
TEST_F(Meshes, NobodyMustLookForAPeerThatIsGone) {
  open(2);
  meshes_[1].reset();
  mesh(0).note(1, "anyone?");
  for (int wakes = 0; lost_.empty(); ++wakes) {
    ASSERT_LT(wakes, 20);
    EXPECT_FALSE(mesh(0).must_be_pumped());
    pollfd wanted{.fd = mesh(0).descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&wanted, 1, 20'000), 1);
    mesh(0).pump();
  }
}

// Takes all descriptors there are, but for some.
class NoDescriptors {
 public:
  explicit NoDescriptors(int left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 100;
    setrlimit(RLIMIT_NOFILE, &few);
    for (FileDescriptor more; (more = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));)
      taken_.push_back(std::move(more));
    EXPECT_EQ(errno, EMFILE);
    for (int i = 0; i < left; ++i) taken_.pop_back();
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<FileDescriptor> taken_;
};

TEST_F(Meshes, WithoutDescriptorsItWaitsUntilThereAreSome) {
  std::ostringstream said;
  open(2, {}, {.log = Log({.stream = &said})});
  {
    const FileDescriptor caller = begin_connect("127.0.0.1", endpoints_[1].port);
    const NoDescriptors none(0);
    EXPECT_TRUE(until([&] { return said.str().find("out of file descriptors (limit 100)") != std::string::npos; }));
    int busy = 0;
    for (const Deadline end = Deadline::after(1s); !end.passed(); std::this_thread::sleep_for(1ms))
      busy += mesh(1).pump() ? 1 : 0;
    EXPECT_LE(busy, 10) << "it asks again and again";
  }
  mesh(0).note(1, "now there are some");
  EXPECT_TRUE(until([&] { return notes_.size() == 1; }));
}

TEST_F(Meshes, WhoCannotCallForWantOfDescriptorsSaysSo) {
  open(2);
  const NoDescriptors none(0);
  mesh(0).note(1, "hello");
  EXPECT_TRUE(until([&] { return !lost_.empty(); }));
  EXPECT_NE(lost_.front().text.find("out of file descriptors (limit 100)"), std::string::npos) << lost_.front().text;
}

// A worker of a DataLoader, say, that outlives its parent.
TEST_F(Meshes, AForkedChildDoesNotHideTheEndOfItsParent) {
  open(2);
  mesh(0).note(1, "hello");
  mesh(1).note(0, "hello");
  EXPECT_TRUE(until([&] { return notes_.size() == 2; }));
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  meshes_[1].reset();
  EXPECT_TRUE(until([&] { return !lost_.empty(); }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace ronde::comm::detail
