#include "ronde/comm/link/shm/shm_link.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "ronde/comm/link/shm/shm_allreduce.h"
#include "ronde/comm/link/shm/shm_collectives.h"

namespace ronde::comm::detail {
namespace {

std::vector<std::size_t> each_plus(std::span<const std::size_t> areas, std::size_t inside) {
  std::vector<std::size_t> offsets(areas.begin(), areas.end());
  for (std::size_t& offset : offsets) offset += inside;
  return offsets;
}

}  // namespace

ShmLink::ShmLink(Node& node, std::vector<int> members, std::span<const std::size_t> areas)
    : talk_(node, members, each_plus(areas, offsetof(GroupArea, talk))),
      data_(node, members, each_plus(areas, offsetof(GroupArea, data))) {
  const auto offsets = each_plus(areas, offsetof(GroupArea, control));
  for (std::size_t i = 0; i < members.size(); ++i)
    control_.push_back(reinterpret_cast<ControlArea*>(node.base(members[i]) + offsets[i]));
  for (int member = 0; member < size(); ++member)
    if (member != rank()) others_.push_back(members[static_cast<std::size_t>(member)]);
  while (1 << steps_ < size()) ++steps_;
  if (at_once()) steps_ = std::min(steps_, 1);
}

bool ShmLink::begun() const {
  const std::uint64_t before_it = combines_ * static_cast<std::uint64_t>(steps_);
  const auto has = [&](int member) { return control(member).shown.load(std::memory_order_acquire) > before_it; };
  if (at_once()) {
    for (int i = 1; i < size(); ++i)
      if (has(before(i))) return true;
    return false;
  }
  for (int step = 0; step < steps_; ++step)
    if (has(before(1 << step))) return true;
  return false;
}

bool ShmLink::refused() const {
  return std::ranges::any_of(control_, [this](const ControlArea* theirs) {
    return theirs->refused.load(std::memory_order_acquire) == combines_ + 1;
  });
}

// A no must reach everyone, also who would hear of it only from others that have already said yes. It is rare.
void ShmLink::show_refusal() {
  control(rank()).refused.store(combines_ + 1, std::memory_order_release);
  std::vector<int> everyone;
  for (int member = 0; member < size(); ++member) everyone.push_back(data_.node_rank(member));
  data_.node().summon(everyone);
  ++traffic_.messages;
  traffic_.bytes += sizeof(std::uint64_t);
}

// Where I show words of the combine that is under way, and where another member does.
std::span<std::uint64_t> ShmLink::room_for(int step, std::size_t count) {
  ControlArea& mine = control(rank());
  if (count == 1 && at_once()) return {&mine.vote[combines_ % 2], 1};
  return std::span(mine.words[combines_ % 2][static_cast<std::size_t>(step)]).first(count);
}
std::span<const std::uint64_t> ShmLink::shown_by(int member, int step, std::size_t count) const {
  const ControlArea& theirs = control(member);
  if (count == 1 && at_once()) return {&theirs.vote[combines_ % 2], 1};
  return std::span(theirs.words[combines_ % 2][static_cast<std::size_t>(step)]).first(count);
}

void ShmLink::show(int step, std::span<const std::uint64_t> words, bool summons) {
  std::ranges::copy(words, room_for(step, words.size()).begin());
  control(rank()).shown.store(combines_ * static_cast<std::uint64_t>(steps_) + static_cast<std::uint64_t>(step) + 1,
                              std::memory_order_release);
  const int next = data_.node_rank((rank() + (1 << step)) % size());
  const std::span<const int> readers = at_once() ? std::span<const int>(others_) : std::span(&next, 1);
  // Who has not begun looks at what I show when it does.
  if (summons) {
    data_.node().summon(readers);
  } else {
    data_.node().ring(readers);
  }
  ++traffic_.messages;
  traffic_.bytes += words.size_bytes() + sizeof(std::uint64_t);
}

void ShmLink::pass_on_refusal() {
  if (control(rank()).refused.load(std::memory_order_relaxed) != combines_ + 1) show_refusal();
}

Task ShmLink::combine(std::span<std::uint64_t> words, bool summons) {
  if (words.size() == 1 && words[0] == 0 && size() > 1) show_refusal();
  return combine_quietly(words, summons);
}

Task ShmLink::combine_quietly(std::span<std::uint64_t> words, bool summons) {
  if (at_once()) return combine_at_once(words, summons);
  return combine_by_passing_on(words, summons);
}

Task ShmLink::combine_at_once(std::span<std::uint64_t> words, bool summons) {
  if (size() > 1) {
    show(0, words, summons);
    for (int i = 1; i < size(); ++i) {
      const int member = before(i);
      co_await reaches(control(member).shown, combines_ + 1);
      const auto heard = shown_by(member, 0, words.size());
      for (std::size_t w = 0; w < words.size(); ++w) words[w] = std::min(words[w], heard[w]);
    }
  }
  ++combines_;
}

Task ShmLink::combine_by_passing_on(std::span<std::uint64_t> words, bool summons) {
  const std::uint64_t first = combines_ * static_cast<std::uint64_t>(steps_);
  for (int step = 0; step < steps_; ++step) {
    show(step, words, summons);
    const int member = before(1 << step);
    co_await reaches(control(member).shown, first + static_cast<std::uint64_t>(step) + 1);
    const auto heard = shown_by(member, step, words.size());
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::min(words[i], heard[i]);
  }
  ++combines_;
}

// In parts of kSmallBytes, each behind the number of bytes that are left. Everyone reads a part while the next one is
// written to the other buffer; a combine of nothing keeps the writer from running further ahead.
Task ShmLink::spread(std::string& bytes, int from) {
  constexpr std::size_t kRoom = kSmallBytes - sizeof(std::uint64_t);
  std::size_t done = 0;
  std::uint64_t left = bytes.size();
  do {
    const std::uint64_t part = spread_buffer_++;
    auto& shown = talk_.area(from).small[part % 2];
    if (rank() == from) {
      std::memcpy(shown.data(), &left, sizeof(left));
      std::memcpy(shown.data() + sizeof(left), bytes.data() + done, std::min<std::size_t>(left, kRoom));
      talk_.raise(talk_.mine().filled, part + 1);
      ++traffic_.messages;
      traffic_.bytes += sizeof(left) + std::min<std::size_t>(left, kRoom);
    } else {
      co_await reaches(talk_.area(from).filled, part + 1);
      std::memcpy(&left, shown.data(), sizeof(left));
      if (done == 0) bytes.clear();
      bytes.append(reinterpret_cast<const char*>(shown.data()) + sizeof(left), std::min<std::size_t>(left, kRoom));
    }
    const std::size_t taken = std::min<std::size_t>(left, kRoom);
    done += taken;
    left -= taken;
    if (left > 0) co_await combine({});
  } while (left > 0);
}

Task ShmLink::tell(std::string mine, std::vector<std::string>& all) {
  constexpr std::size_t kRoom = kSmallBytes - sizeof(std::uint64_t);
  const std::uint64_t bytes = std::min(mine.size(), kRoom);
  std::string shown(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  shown.append(mine, 0, bytes);
  all.clear();
  const auto read = [&](int, const std::byte* data) {
    std::uint64_t length = 0;
    std::memcpy(&length, data, sizeof(length));
    all.emplace_back(reinterpret_cast<const char*>(data) + sizeof(length), length);
  };
  ++traffic_.messages;
  traffic_.bytes += shown.size();
  co_await exchange(talk_, std::as_bytes(std::span(shown)), read);
  co_await combine({});  // everyone has read: spread() uses the same buffers
}

std::vector<int> ShmLink::silent() const {
  const std::uint64_t before_it = combines_ * static_cast<std::uint64_t>(steps_);
  std::vector<int> members;
  for (int member = 0; member < size(); ++member)
    if (control(member).shown.load(std::memory_order_acquire) <= before_it) members.push_back(member);
  return members;
}

void ShmLink::wake(const std::vector<int>& members) const {
  std::vector<int> peers;
  for (const int member : members) peers.push_back(data_.node_rank(member));
  data_.node().summon(peers);
}

void ShmLink::finish_round() {
  auto& rounds = control(rank()).rounds;
  rounds.store(rounds.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void ShmLink::finish_bucket() {
  auto& buckets = control(rank()).buckets;
  buckets.store(buckets.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::uint64_t ShmLink::rounds_of(int member) const {
  return control(member).rounds.load(std::memory_order_acquire);
}

std::uint64_t ShmLink::buckets_of(int member) const {
  return control(member).buckets.load(std::memory_order_acquire);
}

Task ShmLink::allreduce(Segments data, math::Reduction reduction) {
  return shm_allreduce(data_, std::move(data), reduction);
}
Task ShmLink::reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) {
  return shm_reduce(data_, data, out, root, reduction);
}
Task ShmLink::reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) {
  return shm_reduce_scatter(data_, std::move(send), out, reduction);
}
Task ShmLink::broadcast(Bytes data, int root) {
  return shm_broadcast(data_, data, root);
}
Task ShmLink::allgather(ConstBytes mine, std::vector<Bytes> out) {
  return shm_allgather(data_, mine, std::move(out));
}
Task ShmLink::alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) {
  return shm_alltoall(data_, std::move(send), std::move(out));
}
Task ShmLink::barrier() {
  return shm_barrier(data_);
}

Task ShmLink::share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) {
  all.clear();
  const auto read = [&](int, const std::byte* data) {
    const std::size_t before = all.size();
    all.resize(before + mine.size());
    if (!mine.empty()) std::memcpy(all.data() + before, data, mine.size() * sizeof(std::uint64_t));
  };
  co_await exchange(data_, std::as_bytes(std::span(mine)), read);
}

}  // namespace ronde::comm::detail
