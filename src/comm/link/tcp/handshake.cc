#include "ronde/comm/link/tcp/handshake.h"

#include <cstring>
#include <utility>

namespace ronde::comm::detail {
namespace {

constexpr std::uint32_t kMagic = 0x524e4832;  // "RNH2": the version of this page goes with it

struct Hello {
  std::uint32_t magic = kMagic;
  std::int32_t from = 0, to = 0;
  support::Sha256 nonce{};
};
struct Challenge {
  std::uint32_t magic = kMagic;
  support::Sha256 nonce{}, proof{};
};
static_assert(sizeof(Hello) == 44 && sizeof(Challenge) == CallerHandshake::kChallengeBytes, "no gaps on the wire");

template <class Message>
std::string bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

template <class Message>
Message read(std::string_view bytes) {
  Message message;
  std::memcpy(&message, bytes.data(), sizeof(message));
  return message;
}

// `who` makes the two directions differ: nobody can answer with what it was sent.
support::Sha256 prove(const std::string& secret, std::string_view who, Call call, const support::Sha256& callers,
                      const support::Sha256& listeners) {
  std::string text(who);
  text += bytes_of(Hello{.from = call.from, .to = call.to, .nonce = callers});
  text += bytes_of(listeners);
  return support::hmac_sha256(secret, text);
}

constexpr std::string_view kCaller = "ronde caller ", kListener = "ronde listener ";

}  // namespace

CallerHandshake::CallerHandshake(std::string secret, Call call, const support::Sha256& nonce)
    : secret_(std::move(secret)), call_(call), nonce_(nonce) {}

std::string CallerHandshake::hello() const {
  return bytes_of(Hello{.from = call_.from, .to = call_.to, .nonce = nonce_});
}

std::string CallerHandshake::answer(std::string_view challenge) const {
  const auto theirs = read<Challenge>(challenge);
  if (theirs.magic != kMagic ||
      !support::same_digest(theirs.proof, prove(secret_, kListener, call_, nonce_, theirs.nonce)))
    return {};
  return bytes_of(prove(secret_, kCaller, call_, nonce_, theirs.nonce));
}

ListenerHandshake::ListenerHandshake(std::string secret, int rank, int ranks, const support::Sha256& nonce)
    : secret_(std::move(secret)), rank_(rank), ranks_(ranks), nonce_(nonce) {}

std::size_t ListenerHandshake::wants() const {
  if (state_ == State::Hello) return sizeof(Hello) - bytes_.size();
  return state_ == State::Answer ? sizeof(support::Sha256) - bytes_.size() : 0;
}

std::string ListenerHandshake::add(std::string_view bytes) {
  if (bytes.size() > wants()) return refuse();
  bytes_ += bytes;
  if (wants() > 0) return {};
  return state_ == State::Hello ? take_hello() : take_answer();
}

std::string ListenerHandshake::refuse() {
  state_ = State::Refused;
  bytes_.clear();
  return {};
}

std::string ListenerHandshake::take_hello() {
  const auto hello = read<Hello>(bytes_);
  bytes_.clear();
  if (hello.magic != kMagic || hello.to != rank_ || hello.from < 0 || hello.from >= ranks_) return refuse();
  call_ = {hello.from, hello.to};
  callers_nonce_ = hello.nonce;
  state_ = State::Answer;
  return bytes_of(Challenge{.nonce = nonce_, .proof = prove(secret_, kListener, call_, callers_nonce_, nonce_)});
}

std::string ListenerHandshake::take_answer() {
  const auto proof = read<support::Sha256>(bytes_);
  bytes_.clear();
  if (!support::same_digest(proof, prove(secret_, kCaller, call_, callers_nonce_, nonce_))) return refuse();
  state_ = State::Accepted;
  return {CallerHandshake::kWelcome};
}

}  // namespace ronde::comm::detail
