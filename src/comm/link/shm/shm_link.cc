#include "ronde/comm/link/shm/shm_link.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

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
  while (1 << steps_ < size()) ++steps_;
}

bool ShmLink::begun() const {
  const std::uint64_t before_it = combines_ * static_cast<std::uint64_t>(steps_);
  for (int step = 0; step < steps_; ++step)
    if (control(before(1 << step)).shown.load(std::memory_order_acquire) > before_it) return true;
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

void ShmLink::show(int step, std::span<const std::uint64_t> words, bool summons) {
  ControlArea& mine = control(rank());
  std::ranges::copy(words, mine.words[combines_ % 2][static_cast<std::size_t>(step)].begin());
  mine.shown.store(combines_ * static_cast<std::uint64_t>(steps_) + static_cast<std::uint64_t>(step) + 1,
                   std::memory_order_release);
  const int reader = data_.node_rank((rank() + (1 << step)) % size());
  // Who has not begun looks at what I show when it does.
  if (summons) {
    data_.node().summon({&reader, 1});
  } else {
    data_.node().ring({&reader, 1});
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
  const std::uint64_t first = combines_ * static_cast<std::uint64_t>(steps_);
  for (int step = 0; step < steps_; ++step) {
    show(step, words, summons);
    const ControlArea& theirs = control(before(1 << step));
    co_await reaches(theirs.shown, first + static_cast<std::uint64_t>(step) + 1);
    const auto& heard = theirs.words[combines_ % 2][static_cast<std::size_t>(step)];
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

Task ShmLink::allreduce(Segments data, Reduction reduction) {
  return shm_allreduce(data_, std::move(data), reduction);
}
Task ShmLink::reduce(ConstBytes data, Bytes out, int root, Reduction reduction) {
  return shm_reduce(data_, data, out, root, reduction);
}
Task ShmLink::reduce_scatter(std::vector<ConstBytes> send, Bytes out, Reduction reduction) {
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
