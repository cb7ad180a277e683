#include "ronde/comm/link/nodes/node_words.h"

#include <algorithm>
#include <utility>

namespace ronde::comm::detail {

NodeWords::NodeWords(Node& node, std::vector<int> members, std::span<const std::size_t> areas)
    : node_(node), members_(std::move(members)) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    areas_.push_back(reinterpret_cast<NodeWordsArea*>(node_.base(members_[i]) + areas[i]));
    if (members_[i] == node_.rank()) {
      me_ = i;
    } else {
      others_.push_back(members_[i]);
    }
  }
}

bool NodeWords::begun() const {
  for (std::size_t member = 0; member < areas_.size(); ++member)
    if (member != me_ && area(member).given.load(std::memory_order_acquire) > rounds_) return true;
  return false;
}

bool NodeWords::refused() const {
  return std::ranges::any_of(areas_, [this](const NodeWordsArea* theirs) {
    return theirs->refused.load(std::memory_order_acquire) == rounds_ + 1;
  });
}

std::vector<int> NodeWords::silent() const {
  std::vector<int> members;
  for (std::size_t member = 0; member < areas_.size(); ++member)
    if (area(member).given.load(std::memory_order_acquire) <= rounds_) members.push_back(static_cast<int>(member));
  return members;
}

void NodeWords::count(std::size_t words) {
  if (others_.empty()) return;
  ++traffic_.messages;
  traffic_.bytes += (words + 1) * sizeof(std::uint64_t);
}

// A no must reach everyone, also who has nothing to say yet. It is rare.
void NodeWords::show_refusal() {
  mine().refused.store(rounds_ + 1, std::memory_order_release);
  node_.summon(members_);
  count(0);
}

void NodeWords::pass_on_refusal() {
  if (mine().refused.load(std::memory_order_relaxed) != rounds_ + 1) show_refusal();
}

Task NodeWords::gather(std::span<std::uint64_t> words, bool summons) {
  if (words.size() == 1 && words[0] == 0 && !others_.empty()) pass_on_refusal();
  std::ranges::copy(words, mine().words.begin());
  mine().given.store(rounds_ + 1, std::memory_order_release);
  if (!first()) {
    count(words.size());
    // The first member calls the others, if they are to be called.
    const std::span<const int> whom(members_.data(), 1);
    summons ? node_.summon(whom) : node_.ring(whom);
    co_return;
  }
  if (summons) node_.summon(others_);
  for (std::size_t member = 1; member < areas_.size(); ++member) {
    const NodeWordsArea& theirs = area(member);
    co_await reaches(theirs.given, rounds_ + 1);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::min(words[i], theirs.words[i]);
  }
}

Task NodeWords::hand_out(std::span<std::uint64_t> words) {
  if (first()) {
    std::ranges::copy(words, mine().result.begin());
    mine().handed.store(rounds_ + 1, std::memory_order_release);
    node_.ring(others_);
    count(words.size());
  } else {
    co_await reaches(area(0).handed, rounds_ + 1);
    std::copy_n(area(0).result.begin(), words.size(), words.begin());
  }
  ++rounds_;
}

}  // namespace ronde::comm::detail
