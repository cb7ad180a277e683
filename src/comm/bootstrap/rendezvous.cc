#include "ronde/comm/bootstrap/rendezvous.h"

#include <utility>

#include "ronde/base/text/text.h"

namespace ronde::comm::detail {
namespace {

std::string list(const std::vector<int>& ranks) {
  std::vector<std::string> numbers;
  numbers.reserve(ranks.size());
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", join(numbers, ", "));
}

}  // namespace

std::optional<std::string> Rendezvous::arrive(const Hello& hello) {
  const int size = static_cast<int>(ranks_.size());
  if (hello.size != size) return fmt::format("it expects {} ranks, but the job has {}", hello.size, size);
  if (hello.rank < 0 || hello.rank >= size) return fmt::format("there are only ranks 0 to {}", size - 1);
  Rank& rank = at(hello.rank);
  if (rank.presence == Presence::Here) return "another process is connected as this rank";
  if (rank.presence == Presence::Ended) return "the process of this rank has ended";
  rank.presence = Presence::Here;
  return {};
}

std::optional<Failure> Rendezvous::missing_for_good() const {
  Failure failure;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Rank& state = ranks_[rank];
    if (state.presence != Presence::Lost && state.presence != Presence::Ended) continue;
    failure.ranks.push_back(static_cast<int>(rank));
    failure.text += fmt::format("{}rank {} is gone ({})", failure.text.empty() ? "" : ", ", rank, state.how);
  }
  if (failure.ranks.empty()) return {};
  return failure;
}

Rendezvous::Replies Rendezvous::tell_waiting(std::uint64_t index, const Reply& reply) {
  Replies replies;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    Rank& state = ranks_[rank];
    if (!state.waiting || state.given != index + 1) continue;
    state.waiting = false;
    replies.push_back({static_cast<int>(rank), reply.blobs, reply.failure});
  }
  return replies;
}

Rendezvous::Replies Rendezvous::give(int rank, std::string blob) {
  const std::uint64_t index = at(rank).given++;
  at(rank).waiting = true;
  Exchange& exchange = exchanges_[index];
  if (!exchange.failure) exchange.failure = missing_for_good();
  if (exchange.failure) return tell_waiting(index, {.rank = rank, .blobs = nullptr, .failure = exchange.failure});
  exchange.blobs.emplace(rank, std::move(blob));
  if (exchange.blobs.size() < ranks_.size()) return {};
  std::vector<std::string> blobs;
  blobs.reserve(ranks_.size());
  for (auto& [owner, given] : exchange.blobs) blobs.push_back(std::move(given));
  exchanges_.erase(index);
  return tell_waiting(
      index,
      {.rank = rank, .blobs = std::make_shared<const std::vector<std::string>>(std::move(blobs)), .failure = {}});
}

Rendezvous::Replies Rendezvous::give_up(int rank) {
  if (!at(rank).waiting) return {};  // the answer is already on its way
  at(rank).waiting = false;
  const Exchange& exchange = exchanges_.at(at(rank).given - 1);
  Failure failure{Error::Kind::Timeout, {}, ""};
  for (int other = 0; other < static_cast<int>(ranks_.size()); ++other)
    if (!exchange.blobs.contains(other)) failure.ranks.push_back(other);
  failure.text = list(failure.ranks) + " did not arrive";
  return {{.rank = rank, .blobs = nullptr, .failure = failure}};
}

void Rendezvous::leave(int rank) {
  if (at(rank).presence == Presence::Ended) return;  // its goodbye was on the way when it ended
  at(rank).presence = Presence::Away;
  at(rank).waiting = false;
}

Rendezvous::Replies Rendezvous::fail_all(const Failure& failure) {
  Replies replies;
  for (auto& [index, exchange] : exchanges_) {
    if (exchange.failure) continue;
    exchange.failure = failure;
    exchange.blobs.clear();
    Replies more = tell_waiting(index, {.rank = 0, .blobs = nullptr, .failure = failure});
    replies.insert(replies.end(), more.begin(), more.end());
  }
  return replies;
}

Rendezvous::Replies Rendezvous::lose(int rank, std::string how) {
  if (at(rank).presence == Presence::Ended) return {};
  at(rank).presence = Presence::Lost;
  at(rank).how = std::move(how);
  at(rank).waiting = false;
  return fail_all(*missing_for_good());
}

Rendezvous::Replies Rendezvous::ended(int rank, std::string how) {
  at(rank).presence = Presence::Ended;
  at(rank).how = std::move(how);
  at(rank).waiting = false;
  return fail_all(*missing_for_good());
}

}  // namespace ronde::comm::detail
