#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ronde/comm/support/sha256.h"

// How two ranks prove to each other that they know the secret of their job, without saying it:
//
//   caller -> listener   hello: who calls whom, and a random number
//   listener -> caller   challenge: another random number, and an HMAC of all that under the secret
//   caller -> listener   answer: an HMAC of the same for the other direction
//   listener -> caller   welcome: one byte; only now do messages follow
//
// Each proof holds both ranks and both random numbers, so it is good for this connection alone. Pure: knows no socket.
namespace ronde::comm::detail {

// Who calls whom, by rank.
struct Call {
  int from = 0, to = 0;
};

class CallerHandshake {
 public:
  static constexpr std::size_t kChallengeBytes = 68;
  static constexpr char kWelcome = 'k';

  // `nonce`: random, never used before.
  CallerHandshake(std::string secret, Call call, const support::Sha256& nonce);

  std::string hello() const;
  // What to answer to a challenge; empty when whoever has sent it does not know the secret.
  // REQUIRES: a challenge of kChallengeBytes.
  std::string answer(std::string_view challenge) const;

 private:
  std::string secret_;
  Call call_;
  support::Sha256 nonce_;
};

class ListenerHandshake {
 public:
  enum class State { Hello, Answer, Accepted, Refused };

  // `ranks` of the job, of which this is `rank`. `nonce`: random, never used before.
  ListenerHandshake(std::string secret, int rank, int ranks, const support::Sha256& nonce);

  State state() const { return state_; }
  // How many bytes are expected next; none when it is over.
  std::size_t wants() const;
  // Takes bytes as they come, and gives what is to be sent back. More than wants() is a refusal.
  std::string add(std::string_view bytes);
  // The rank that calls. REQUIRES: it is accepted.
  int peer() const { return call_.from; }

 private:
  std::string refuse();
  std::string take_hello();
  std::string take_answer();

  std::string secret_;
  int rank_, ranks_;
  support::Sha256 nonce_;
  State state_ = State::Hello;
  std::string bytes_;
  Call call_;
  support::Sha256 callers_nonce_{};
};

}  // namespace ronde::comm::detail
