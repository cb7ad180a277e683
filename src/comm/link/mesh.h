#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ronde/base/clock.h"
#include "ronde/base/file_descriptor.h"
#include "ronde/comm/link/doors.h"
#include "ronde/comm/link/mesh_frame.h"
#include "ronde/comm/link/post.h"

namespace ronde::comm::detail {

// TCP connections between ranks of different nodes: for agreeing, for hearing who has gone, and for data where there is
// nothing better. A connection carries messages one way, from who made it to who accepted it, and is made when
// something is first sent; so nobody has to agree on who calls whom, and what has been sent arrives even when its
// sender has ended meanwhile.
//
// Belongs to whoever carries the engine's work; descriptor() may be watched by any thread.
class Mesh final : public Post {
 public:
  struct Options {
    int rank = 0;
    std::vector<Door> doors = {};         // by rank, addresses in the order to try
    std::string secret = {};              // who does not know it is thrown out
    std::chrono::seconds patience{6};     // how long a machine may be unreachable
    std::vector<std::string> names = {};  // by rank, for messages
  };
  // What hears of notes, and of peers whose connection has ended, at most once each: it may have said goodbye before.
  struct Ears {
    std::function<void(int from, std::string_view text)> noted;
    std::function<void(int peer, const std::string& how)> lost;
  };

  Mesh(FileDescriptor listener, Options options);
  ~Mesh() override;
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  // From here on; before, nothing is told.
  void listen(Ears ears);
  // Connects to some, and waits until others have connected to us; so nobody who has met all of its partners is needed
  // by one that has not. FAILS WITH: Timeout or PeerLost, naming the rank and what was tried.
  void meet(const std::vector<int>& call, const std::vector<int>& called_by, Deadline until);

  Parcel send(int to, Tag tag, Cargo cargo) override;
  Parcel receive(int from, Tag tag, Cargo cargo) override;
  bool pump() override;
  bool must_be_pumped() const override { return !doubtful_.empty(); }

  // Has a message come that nobody has asked for yet?
  bool waiting(int from, Tag tag) const;
  // A word that nobody has to ask for.
  void note(int to, std::string_view text);
  // To everyone that we are connected with, either way.
  void note_all(std::string_view text);
  // Sends what is still to be sent, for so long.
  void flush(Deadline until);

  // Readable when pump() has something to do.
  int descriptor() const { return poll_.get(); }

 private:
  struct Line {  // messages of one sender and tag
    std::vector<std::pair<Cargo, std::shared_ptr<ParcelState>>> asked;
    std::vector<std::shared_ptr<Arrival>> arrivals;
  };

  // What the kernel tells of: an outgoing connection by peer, an incoming one by number.
  static constexpr std::uint64_t kOutgoing = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kIncoming = std::uint64_t{2} << 32;
  static constexpr char kWelcome = 'k';

  static std::uint64_t key(int peer, Tag tag);
  Outgoing& outgoing(int peer);
  void connect(int peer, Outgoing& out);
  void connect_failed(int peer, Outgoing& out, const std::string& why);
  void connected(int peer, Outgoing& out);
  void push(int peer, Frame frame);
  void write(int peer, Outgoing& out);
  void want_room(int peer, Outgoing& out, bool wanted);
  void hear_outgoing(int peer, std::uint32_t events);
  void hear_reply(int peer, Outgoing& out);
  void close_outgoing(int peer, Outgoing& out, const std::string& how);

  void accept_all();
  bool hear(Incoming& in);
  bool reached(int peer);
  std::string still_missing(const std::vector<int>& call, const std::vector<int>& called_by);
  bool take_buffered(Incoming& in);
  bool begin_frame(Incoming& in);
  bool finish_frame(Incoming& in);
  bool greet(Incoming& in, std::string_view hello);
  void give_up_doubtful();
  void lose(int peer, const std::string& how);

  const Options options_;
  FileDescriptor listener_, poll_;
  Ears ears_;
  std::map<int, Outgoing> outgoing_;
  std::map<std::uint64_t, Incoming> incoming_;
  std::uint64_t next_id_ = 0;
  std::unordered_map<std::uint64_t, Line> lines_;
  std::map<int, std::string> lost_;
  std::map<int, Deadline> doubtful_;  // peers whose doors are closed, and until when their goodbye may still come
  std::set<int> heard_;               // peers that are connected to us
};

}  // namespace ronde::comm::detail
