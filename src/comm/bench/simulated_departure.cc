#include "ronde/comm/bench/simulated_departure.h"

#include <algorithm>
#include <deque>
#include <set>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/routes.h"

namespace ronde::comm::detail {
namespace {

// One word about a rank, from one rank to another.
struct Word {
  int to = 0, about = 0;
  bool from_node = false;
  std::uint64_t depth = 0;  // messages between nodes so far
};

class Departures {
 public:
  explicit Departures(const SimulatedJob& job)
      : layout_(Layout::of(nodes_of(job))),
        known_(layout_.node_of.size()),
        messages_(known_.size()),
        network_(messages_) {}

  // These go at once; `by_itself`: they say so, otherwise others see it. What it costs those, or the others.
  SimulatedCost go(const std::string& what, const std::set<int>& ranks, bool by_itself, bool of_the_gone = false) {
    dead_ = ranks;
    for (const int rank : ranks) {
      if (by_itself) tell(rank, rank, true, 0);
      for (const int peer : layout_.node(node_of(rank)))
        if (!by_itself) say(rank, peer, rank, true, 0, false);
      for (const int partner : first_partners(layout_, rank).called_by)
        if (!by_itself) say(rank, partner, rank, false, 0, false);
    }
    while (!words_.empty()) {
      const Word word = words_.front();
      words_.pop_front();
      if (dead_.contains(word.to) || !known_[index(word.to)].insert(word.about).second) continue;
      deepest_ = std::max(deepest_, word.depth);
      tell(word.to, word.about, word.from_node, word.depth);
    }
    for (const int rank : ranks)
      for (std::size_t other = 0; other < known_.size(); ++other)
        if (!dead_.contains(static_cast<int>(other)) && !known_[other].contains(rank))
          throw Error(Error::Kind::Bug, fmt::format("{}: rank {} does not hear of rank {}", what, other, rank));
    SimulatedCost cost{.what = what, .depth = deepest_};
    for (std::size_t rank = 0; rank < known_.size(); ++rank) {
      if (of_the_gone != dead_.contains(static_cast<int>(rank))) continue;
      cost.messages = std::max<std::uint64_t>(cost.messages, messages_[rank] / ranks.size());
      cost.network_messages = std::max<std::uint64_t>(cost.network_messages, network_[rank] / ranks.size());
    }
    return cost;
  }

 private:
  static std::vector<int> nodes_of(const SimulatedJob& job) {
    std::vector<int> nodes;
    for (int rank = 0; rank < job.ranks; ++rank) nodes.push_back(rank / job.per_node);
    return nodes;
  }
  static std::set<int> to_set(const std::vector<int>& ranks) { return {ranks.begin(), ranks.end()}; }
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  int node_of(int rank) const { return layout_.node_of[index(rank)]; }

  void say(int from, int to, int about, bool from_node, std::uint64_t depth, bool counts = true) {
    if (from == to) return;
    if (counts) ++messages_[index(from)];
    if (counts && !from_node) ++network_[index(from)];
    words_.push_back({.to = to, .about = about, .from_node = from_node, .depth = depth + (from_node ? 0 : 1)});
  }
  void tell(int rank, int about, bool from_node, std::uint64_t depth) {
    const std::vector<int> gone(known_[index(rank)].begin(), known_[index(rank)].end());
    const auto& here = layout_.node(node_of(rank));
    const int speaker = speaker_of(here, gone);
    const GoneFrom where = about == rank                     ? GoneFrom::ThisRank
                           : node_of(about) == node_of(rank) ? GoneFrom::ThisNode
                                                             : GoneFrom::Elsewhere;
    const Tells tells = who_is_told(where, speaker == rank, from_node);
    for (const int peer : here)
      if (tells.node || (tells.speaker && peer == speaker)) say(rank, peer, about, true, depth);
    if (!tells.nodes) return;
    const Partners connected = first_partners(layout_, rank);
    std::set<int> partners(connected.call.begin(), connected.call.end());
    partners.insert(connected.called_by.begin(), connected.called_by.end());
    if (about != rank) partners = to_set(gossip_partners(layout_, rank, gone));
    for (const int partner : partners) say(rank, partner, about, false, depth);
  }

  const Layout layout_;
  std::vector<std::set<int>> known_;  // by rank: who has gone
  std::vector<std::uint64_t> messages_, network_;
  std::set<int> dead_;
  std::deque<Word> words_;
  std::uint64_t deepest_ = 0;
};

}  // namespace

std::vector<SimulatedCost> simulate_departures(const SimulatedJob& job) {
  std::set<int> node;
  for (int place = 0; place < std::min(job.per_node, job.ranks); ++place) node.insert(place);
  const std::set<int> any{std::min(1, job.ranks - 1)}, first{0};
  return {Departures(job).go("a rank leaves: itself", any, true, true),
          Departures(job).go("a rank leaves: others", any, true),
          Departures(job).go("a node's first rank leaves: others", first, true),
          Departures(job).go("a rank dies: others", any, false),
          Departures(job).go("a node dies: others, per rank", node, false)};
}

}  // namespace ronde::comm::detail
