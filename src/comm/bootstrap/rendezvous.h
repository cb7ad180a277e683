#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ronde/comm/bootstrap/bootstrap_wire.h"

namespace ronde::comm::detail {

// What the bootstrap server decides: who has come, which exchange is complete, which has failed and for whom. Knows no
// socket. Not safe to call from several threads.
class Rendezvous {
 public:
  // For a rank that waits: the blobs of all, or why there are none.
  struct Reply {
    int rank = 0;
    std::shared_ptr<const std::vector<std::string>> blobs;
    std::optional<Failure> failure;
  };
  using Replies = std::vector<Reply>;

  explicit Rendezvous(int size) : ranks_(static_cast<std::size_t>(size)) {}

  // Someone connects as a rank. Nothing when it may; otherwise why not.
  std::optional<std::string> arrive(const Hello& hello);

  // REQUIRES for all below: `rank` is one of the job. give() and give_up(): it has arrived.
  Replies give(int rank, std::string blob);
  Replies give_up(int rank);                 // its time is over; it hears who is missing
  void leave(int rank);                      // it said goodbye, and may come again
  Replies lose(int rank, std::string how);   // it went without a word; it may come again, but nobody counts on it
  Replies ended(int rank, std::string how);  // its process is gone for good

 private:
  enum class Presence { Away, Here, Lost, Ended };
  struct Rank {
    Presence presence = Presence::Away;
    std::string how;          // why Lost or Ended
    std::uint64_t given = 0;  // exchanges it has taken part in
    bool waiting = false;     // for the last of them
  };
  struct Exchange {
    std::map<int, std::string> blobs;
    std::optional<Failure> failure;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::optional<Failure> missing_for_good() const;
  Replies fail_all(const Failure& failure);
  Replies tell_waiting(std::uint64_t index, const Reply& reply);

  std::vector<Rank> ranks_;
  std::map<std::uint64_t, Exchange> exchanges_;  // begun and not complete; failed ones stay, for those who come late
};

}  // namespace ronde::comm::detail
