#include "ronde/comm/link/mesh.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;

Cargo cargo_of(const std::string& text) {
  Cargo cargo(text.size());
  std::memcpy(cargo.data(), text.data(), text.size());
  return cargo;
}
std::string text_of(const Cargo& cargo) {
  return {reinterpret_cast<const char*>(cargo.data()), cargo.size()};
}

// Ranks that share this thread: each moves on when the others wait.
class Meshes : public testing::Test {
 protected:
  void open(int ranks, const std::vector<std::string>& secrets = {}) {
    std::vector<OpenDoor> open;
    Mesh::Options options;
    for (int rank = 0; rank < ranks; ++rank) {
      open.push_back(open_door(""));
      options.doors.push_back({.addresses = {"127.0.0.1"}, .port = open.back().door.port});
      options.names.push_back("rank " + std::to_string(rank));
    }
    doors_ = options.doors;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      options.rank = rank;
      options.secret = index < secrets.size() ? secrets[index] : "secret";
      meshes_.push_back(std::make_unique<Mesh>(std::move(open[index].listener), options));
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
  std::vector<Door> doors_;
  std::vector<std::unique_ptr<Mesh>> meshes_;
  std::vector<Word> notes_, lost_;
};

TEST_F(Meshes, MessagesOfATagComeInTheirOrderWhoeverIsFirst) {
  open(2);
  const Tag tag{.channel = 7, .lane = 3}, other{.channel = 7, .lane = 4};
  const Parcel early = mesh(0).send(1, tag, cargo_of("first"));
  mesh(0).send(1, other, cargo_of("elsewhere"));
  mesh(0).send(1, tag, cargo_of("second"));
  EXPECT_TRUE(until([&] { return mesh(1).waiting(0, other); }));
  const Cargo one(5), two(6), three(9), late(4);
  const Parcel got_one = mesh(1).receive(0, tag, one), got_two = mesh(1).receive(0, tag, two);
  const Parcel got_late = mesh(1).receive(0, tag, late), got_three = mesh(1).receive(0, other, three);
  EXPECT_TRUE(until([&] { return got_one->done && got_two->done && got_three->done && early->done; }));
  EXPECT_EQ(text_of(one), "first");
  EXPECT_EQ(text_of(two), "second");
  EXPECT_EQ(text_of(three), "elsewhere");
  EXPECT_FALSE(got_late->done);
  mesh(0).send(1, tag, cargo_of("late"));
  EXPECT_TRUE(until([&] { return got_late->done; }));
  EXPECT_EQ(text_of(late), "late");
}

TEST_F(Meshes, LargeAndEmptyMessagesBothWaysAtOnce) {
  open(2);
  std::string large(20'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>('a' + i % 23);
  const Tag tag{};
  std::vector<Parcel> parcels;
  std::vector<Cargo> got;
  for (const int from : {0, 1}) {
    for (const std::string& text : {large, std::string(), std::string("end")}) {
      parcels.push_back(mesh(from).send(1 - from, tag, cargo_of(text)));
      got.emplace_back(text.size());
      parcels.push_back(mesh(1 - from).receive(from, tag, got.back()));
    }
  }
  EXPECT_TRUE(until([&] { return std::ranges::all_of(parcels, [](const Parcel& one) { return one->done; }); }));
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
  mesh(0).send(1, {}, cargo_of("to nobody"));
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
  const FileDescriptor stranger = begin_connect("127.0.0.1", doors_[1].port);
  pollfd ready{.fd = stranger.get(), .events = POLLOUT, .revents = 0};
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  const std::string garbage(1000, 'G');
  EXPECT_EQ(send(stranger.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 1000);
  char answer = 0;
  EXPECT_TRUE(until([&] { return recv(stranger.get(), &answer, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET; }));
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
    EXPECT_NE(std::string(error.what()).find("rank 1: it cannot be reached: 127.0.0.1 port"), std::string::npos)
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
    EXPECT_NE(std::string(error.what()).find("rank 1 has not connected"), std::string::npos) << error.what();
  }
}

TEST(Addresses, NearOnesFirst) {
  const std::vector<std::string> mine{"10.1.0.5", "192.168.7.1", "127.0.0.1"};
  EXPECT_EQ(order_addresses(mine, {"127.0.0.1", "172.16.0.9", "192.168.7.9", "10.1.0.6"}, false),
            (std::vector<std::string>{"192.168.7.9", "10.1.0.6", "172.16.0.9"}));
  EXPECT_EQ(order_addresses(mine, {"10.1.0.5", "127.0.0.1"}, true).front(), "127.0.0.1");
}

TEST(Doors, AnInterfaceThatIsNotThereIsAMistake) {
  try {
    open_door("nonsense0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(std::string(error.what()).find("lo (127.0.0.1)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ronde::comm::detail
