#include "ronde/comm/link/shm/channel.h"

#include <new>

namespace ronde::comm::detail {

std::size_t Channel::make_area(Node& node) {
  std::byte* memory = node.arena().allocate(sizeof(ChannelArea));
  // Memory from the arena may have been used before: only the counters need a value.
  auto* area = reinterpret_cast<ChannelArea*>(memory);
  for (auto* counter : {&area->published, &area->filled, &area->reduced, &area->drained})
    new (counter) std::atomic<std::uint64_t>(0);
  return *node.arena().offset_of(memory, sizeof(ChannelArea));
}

Channel::Channel(Node& node, std::vector<int> members, std::span<const std::size_t> areas)
    : node_(node), members_(std::move(members)) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    areas_.push_back(reinterpret_cast<ChannelArea*>(node.base(members_[i]) + areas[i]));
    if (members_[i] == node.rank()) {
      rank_ = static_cast<int>(i);
    } else {
      others_.push_back(members_[i]);
    }
  }
}

void Channel::raise(std::atomic<std::uint64_t>& counter, std::uint64_t value) const {
  counter.store(value, std::memory_order_release);
  node_.ring(others_);
}

}  // namespace ronde::comm::detail
