#include "ronde/report/run/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "ronde/report/run/numbers.h"
#include "ronde/report/steps/overlap.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::LaneSpan;

constexpr int kDeepest = 64;
constexpr std::uint32_t kMostChildren = 1000;
constexpr std::uint32_t kOthers = 0xffffffff;  // no name's number

// Devices are numbered within a node: what is stream 7 on one is stream 7 on the other.
std::string root_name(const Lane& lane) {
  if (lane.kind != Lane::Kind::Device) return lane.name;
  const auto stream = lane.name.find("stream");
  return stream == std::string::npos ? "gpu" : "gpu " + lane.name.substr(stream);
}

// The tree while it grows: paths by number, found by the one above and a name.
class Paths {
 public:
  explicit Paths(std::size_t ranks) : ranks_(ranks) {}

  std::uint32_t root(Lane::Kind kind, const std::string& name) {
    const auto [found, fresh] = roots_.try_emplace({kind, name}, static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) add({.depth = 0});
    return found->second;
  }

  std::uint32_t child(std::uint32_t parent, std::uint32_t name) {
    const Node& above = nodes_[parent];
    // What was last below it is often what comes next: operators, batches.
    if (above.last != 0 && nodes_[above.last].name == name) return above.last;
    if (above.depth >= kDeepest) return parent;
    if (const auto found = index_.find(key(parent, name)); found != index_.end()) {
      nodes_[parent].last = found->second;
      return found->second;
    }
    if (above.children >= kMostChildren && name != kOthers) return child(parent, kOthers);
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    index_.emplace(key(parent, name), made);
    ++nodes_[parent].children;
    nodes_[parent].last = made;
    add({.parent = parent, .name = name, .depth = nodes_[parent].depth + 1});
    return made;
  }

  bool at_limit(std::uint32_t node) const { return nodes_[node].depth >= kDeepest; }

  void visit(std::uint32_t node, std::size_t rank, std::int64_t ns) {
    ++nodes_[node].visits;
    add_time(node, rank, ns);
  }
  void add_time(std::uint32_t node, std::size_t rank, std::int64_t ns) {
    nodes_[node].inclusive += ns;
    times_[node * ranks_ + rank] += ns;
  }

  std::vector<PathTime> take(const trace::Names& names) {
    // Children have higher numbers than what is above them: from the back, all are complete when they are handed up.
    std::vector<PathTime> made(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      made[i] = {.name = node.name == kOthers ? "(others)" : names.text(node.name),
                 .visits = node.visits,
                 .inclusive = seconds(node.inclusive)};
      for (std::size_t rank = 0; rank < ranks_; ++rank) made[i].per_rank.push_back(seconds(times_[i * ranks_ + rank]));
    }
    std::vector<std::int64_t> below(nodes_.size(), 0);
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = nodes_[i];
      made[i].exclusive = seconds(std::max<std::int64_t>(0, node.inclusive - below[i]));
      std::ranges::reverse(made[i].children);
      if (node.depth == 0) continue;
      below[node.parent] += node.inclusive;
      made[node.parent].children.push_back(std::move(made[i]));
    }
    std::vector<PathTime> tree;
    for (const auto& [root, node] : roots_) {
      made[node].name = root.second;
      tree.push_back(std::move(made[node]));
    }
    return tree;
  }

 private:
  struct Node {
    std::uint32_t parent = 0, name = 0;
    std::uint32_t last = 0, children = 0;  // last: 0 is a root, and below nothing
    int depth = 0;
    std::uint64_t visits = 0;
    std::int64_t inclusive = 0;
  };

  static std::uint64_t key(std::uint32_t parent, std::uint32_t name) {
    return static_cast<std::uint64_t>(parent) << 32 | name;
  }
  void add(Node node) {
    nodes_.push_back(node);
    times_.resize(nodes_.size() * ranks_);
  }

  const std::size_t ranks_;
  std::vector<Node> nodes_;
  std::vector<std::int64_t> times_;  // inclusive, by node and rank
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::map<std::pair<Lane::Kind, std::string>, std::uint32_t> roots_;
};

void add_lane(const Lane& lane, TimeRange bounds, std::size_t rank, Paths& paths, std::vector<std::uint32_t>& places) {
  const bool training = lane.kind == Lane::Kind::Training;
  places.assign(lane.spans.size(), 0);
  std::uint32_t root = 0;
  bool begun = false;
  const auto begin = [&] {
    if (!begun) root = paths.root(lane.kind, root_name(lane)), paths.visit(root, rank, training ? bounds.length() : 0);
    begun = true;
  };
  if (training) begin();
  for (std::size_t i = 0; i < lane.spans.size(); ++i) {
    const LaneSpan& span = lane.spans[i];
    // Who is outside has nobody inside below it, and is asked for by nobody.
    const std::int64_t time = overlap(span.time, bounds);
    const bool moment = span.time.length() == 0 && span.time.begin >= bounds.begin && span.time.begin < bounds.end;
    if (time == 0 && !moment) continue;
    begin();
    const bool top = span.parent == LaneSpan::kNone;
    const std::uint32_t above = top ? root : places[static_cast<std::size_t>(span.parent)];
    places[i] = paths.child(above, span.name);
    if (places[i] == above) continue;  // too deep: its time is that of the one above already
    paths.visit(places[i], rank, time);
    if (top && !training) paths.add_time(root, rank, time);
  }
}

}  // namespace

double PathTime::min() const {
  return per_rank.empty() ? 0 : std::ranges::min(per_rank);
}

double PathTime::max() const {
  return per_rank.empty() ? 0 : std::ranges::max(per_rank);
}

double PathTime::mean() const {
  return per_rank.empty() ? 0 : inclusive / static_cast<double>(per_rank.size());
}

Profile profile_of(const trace::Run& run, const Window& window) {
  Profile profile{.source = run.source.string(), .steps = window.steps};
  Paths paths(run.ranks.size());
  std::vector<std::uint32_t> places;  // kept between lanes: they are of similar size
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    profile.ranks.push_back(run.ranks[rank].rank);
    const TimeRange bounds = rank < window.ranks.size() ? window.ranks[rank] : TimeRange{};
    if (bounds.length() <= 0) continue;
    for (const Lane& lane : run.ranks[rank].lanes) add_lane(lane, bounds, rank, paths, places);
  }
  profile.tree = paths.take(run.names);
  return profile;
}

namespace {

struct Side {
  const Profile* profile;
  double ComparedPath::*inclusive;
  double ComparedPath::*own;
};

void add_side(const std::vector<PathTime>& tree, const std::string& above, const Side& side, double divisor,
              std::map<std::string, ComparedPath>& paths) {
  for (const PathTime& node : tree) {
    const std::string path = above.empty() ? node.name : above + " > " + node.name;
    ComparedPath& compared = paths[path];
    compared.*side.inclusive += node.inclusive / divisor;
    compared.*side.own += node.exclusive / divisor;
    add_side(node.children, path, side, divisor, paths);
  }
}

}  // namespace

Comparison compare(const Profile& first, const Profile& second) {
  std::map<std::string, ComparedPath> paths;
  for (const Side& side : {Side{&first, &ComparedPath::first, &ComparedPath::first_own},
                           Side{&second, &ComparedPath::second, &ComparedPath::second_own}}) {
    const auto ranks = static_cast<double>(std::max<std::size_t>(1, side.profile->ranks.size()));
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, side.profile->steps));
    add_side(side.profile->tree, "", side, ranks * steps, paths);
  }
  Comparison comparison{.first = first.source, .second = second.source};
  for (auto& [path, compared] : paths) {
    compared.path = path;
    comparison.paths.push_back(std::move(compared));
  }
  std::ranges::stable_sort(comparison.paths, std::greater(),
                           [](const ComparedPath& path) { return std::abs(path.difference()); });
  return comparison;
}

}  // namespace ronde::report
