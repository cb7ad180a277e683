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

#include "ronde/base/log.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/comm/link/messenger.h"
#include "ronde/comm/link/tcp/directory.h"
#include "ronde/comm/link/tcp/mesh_frame.h"

namespace ronde::comm::detail {

// TCP connections between ranks of different nodes: for agreeing, for hearing who has gone, and for data where there is
// nothing better. A connection carries messages one way, from who made it to who accepted it, and is made when
// something is first sent; so nobody has to agree on who calls whom, and what has been sent arrives even when its
// sender has ended meanwhile. Both ends prove first that they know the job's secret (handshake.h); what comes over a
// connection afterwards is neither encrypted nor signed.
//
// Whoever has not proven anything costs a descriptor and some hundred bytes, for seconds: there may be 64 of them and
// one for each rank, then the oldest goes. A rank that was thrown out with them, or took too long, calls again.
//
// Belongs to whoever carries the engine's work; descriptor() may be watched by any thread.
class Mesh final : public Messenger {
 public:
  struct Options {
    int rank = 0;
    std::shared_ptr<const Directory> job = nullptr;  // who is where
    std::string secret = {};                         // who does not know it is thrown out
    std::chrono::seconds peer_timeout{6};            // how long a machine may be unreachable
    Log log = Log();
    std::size_t most_unverified = 64;  // besides one for each rank
  };
  // What hears of notes, and of peers whose connection has ended, at most once each: it may have said goodbye before.
  struct Callbacks {
    std::function<void(int from, std::string_view text)> noted;
    std::function<void(int peer, const std::string& how)> lost;
  };

  Mesh(std::vector<FileDescriptor> listeners, Options options);
  ~Mesh() override;
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  // From here on; before, nothing is told.
  void listen(Callbacks callbacks);
  // Connects to some, and waits until others have connected to us; so nobody who has met all of its partners is needed
  // by one that has not. FAILS WITH: Timeout or PeerLost, naming the rank and what was tried.
  void meet(const std::vector<int>& call, const std::vector<int>& called_by, Deadline until);

  PendingMessage send(int to, Tag tag, SharedBuffer buffer) override;
  PendingMessage receive(int from, Tag tag, SharedBuffer buffer) override;
  bool pump() override;
  bool must_be_pumped() const override { return false; }  // what waits for a time is woken by a timer

  bool waiting(int from, Tag tag) const override;
  SharedBuffer take(int from, Tag tag) override;
  void note(int to, std::string_view text) override;
  // Lets nobody in any more: who connects while this rank leaves would never hear its goodbye.
  void stop_accepting();
  // Those that we are connected with, either way; ascending.
  std::vector<int> connected() const;
  // Sends what is still to be sent, for so long.
  void flush(Deadline until);

  // Readable when pump() has something to do.
  int descriptor() const { return poll_.get(); }

 private:
  struct Line {  // messages of one sender and tag
    std::vector<std::pair<SharedBuffer, std::shared_ptr<MessageState>>> asked;
    std::vector<std::shared_ptr<Arrival>> arrivals;
  };

  // What the kernel tells of: an outgoing connection by peer, others by number.
  static constexpr std::uint64_t kOutgoing = std::uint64_t{1} << 32, kIncoming = std::uint64_t{2} << 32,
                                 kUnverified = std::uint64_t{3} << 32, kListener = std::uint64_t{4} << 32,
                                 kTimer = std::uint64_t{5} << 32, kNumber = (std::uint64_t{1} << 32) - 1;

  static std::uint64_t key(int peer, Tag tag);
  std::string name(int peer) const { return options_.job->name(peer); }
  void watch(int operation, int socket, std::uint64_t what, std::uint32_t events) const;
  void lose(int peer, const std::string& how);
  void doubt(int peer, const std::string& how, std::chrono::milliseconds time);
  bool reached(int peer);
  std::string still_missing(const std::vector<int>& call, const std::vector<int>& called_by);

  // What is done at a time; mesh_timers.cc.
  void wake_within(std::chrono::nanoseconds time);
  void hear_timer();
  void look_at_times();
  void look_at_attempt(int peer, Outgoing& out);
  void look_at_health(int peer, Outgoing& out);
  void give_up_doubtful();

  // Connecting and sending; mesh_send.cc.
  Outgoing& outgoing(int peer);
  void connect(int peer, Outgoing& out);
  void begin_round(int peer, Outgoing& out);
  void end_round(int peer, Outgoing& out);
  enum class Retry { No, Maybe, WhileBusy };  // is this address worth another try?
  void connect_failed(int peer, Outgoing& out, const std::string& why, Retry retry);
  void connected(int peer, Outgoing& out);
  void hear_outgoing(int peer, std::uint32_t events);
  void hear_reply(int peer, Outgoing& out);
  void hear_challenge(int peer, Outgoing& out);
  void opened(int peer, Outgoing& out);
  void push(int peer, Frame frame);
  void write(int peer, Outgoing& out);
  void want_room(int peer, Outgoing& out, bool wanted);
  void close_outgoing(int peer, Outgoing& out, const std::string& how);

  // Accepting; mesh_accept.cc.
  void accept_all(std::size_t listener);
  void let_in(FileDescriptor socket);
  void pause_listening();
  void resume_listening();
  bool read_unverified(std::uint64_t id, UnverifiedConnection& connection);
  void expire_unverified();

  // Receiving; mesh_receive.cc.
  bool hear(Incoming& in);
  bool take_buffered(Incoming& in);
  bool begin_frame(Incoming& in);
  bool finish_frame(Incoming& in);
  bool refuse(const Incoming& in, const std::string& why);

  const Options options_;
  std::vector<support::CloforkDescriptor> listeners_;
  FileDescriptor poll_, timer_;
  std::chrono::nanoseconds wakes_at_{0};  // what the timer is set to; 0: nothing
  Callbacks callbacks_;
  std::map<int, Outgoing> outgoing_;
  std::map<std::uint64_t, UnverifiedConnection> unverified_;  // by number: the oldest first
  std::map<std::uint64_t, Incoming> incoming_;
  std::uint64_t next_id_ = 0;
  bool paused_ = false;  // no descriptors are left: nobody can be accepted
  bool told_of_pause_ = false;
  std::unordered_map<std::uint64_t, Line> lines_;
  std::map<int, std::string> lost_;
  struct Doubt {
    Deadline until;
    std::string how;
  };
  std::map<int, Doubt> doubtful_;  // peers that seem to be gone, and until when their goodbye may still come
  std::set<int> heard_;            // peers that are connected to us
};

}  // namespace ronde::comm::detail
