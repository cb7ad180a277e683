#include "ronde/topology/detail/nearest.h"

#include <algorithm>
#include <utility>

namespace ronde::topology::detail {
namespace {

// 0 in the same domain, 1 in the same package, 2 elsewhere or unknown.
int distance(const Machine& machine, const std::vector<int>& domains, const std::optional<int>& device) {
  if (!device) return 2;
  int least = 2;
  for (const int domain : domains) {
    if (domain == *device) return 0;
    const auto& package = machine.numa[domain].package;
    if (package && package == machine.numa[*device].package) least = 1;
  }
  return least;
}

std::pair<bool, double> quality(const NetworkCard& card) {
  return {card.kind != NetworkCard::Kind::Ethernet, card.gbit_per_s.value_or(0)};
}

std::vector<int> best_cards(const std::vector<NetworkCard>& cards) {
  std::vector<int> best;
  for (int i = 0; i < static_cast<int>(cards.size()); ++i) {
    if (!cards[i].up) continue;
    if (!best.empty() && quality(cards[i]) > quality(cards[best.front()])) best.clear();
    if (best.empty() || quality(cards[i]) == quality(cards[best.front()])) best.push_back(i);
  }
  return best;
}

}  // namespace

// Each rank in turn takes the best; of equals, the first.
std::vector<std::optional<int>> nearest_networks(const Machine& machine, const std::vector<std::vector<int>>& domains) {
  const std::vector<int> candidates = best_cards(machine.networks);
  std::vector<int> users(machine.networks.size());
  std::vector<std::optional<int>> chosen;
  for (const std::vector<int>& home : domains) {
    std::optional<int> best;
    std::pair<int, int> best_cost;
    for (const int card : candidates) {
      const std::pair<int, int> cost{distance(machine, home, machine.networks[card].numa), users[card]};
      if (best && cost >= best_cost) continue;
      best = card;
      best_cost = cost;
    }
    if (best) ++users[*best];
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace ronde::topology::detail
