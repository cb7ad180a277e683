// How members on several nodes agree.
#include "ronde/comm/link/nodes/nodes_link.h"

#include <algorithm>
#include <cstring>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/nodes_lanes.h"
#include "ronde/comm/link/nodes/routes.h"
#include "ronde/comm/link/tcp/mesh_frame.h"

namespace ronde::comm::detail {
namespace {

// Kinds of notes.
constexpr char kRefused = 'r', kAsk = 'q', kAnswer = 'a';

constexpr int kMostUnanswered = 2;  // questions, before a node counts as silent

}  // namespace

NodesLink::NodesLink(Parts parts)
    : local_(std::move(parts.local)),
      words_(std::move(parts.words)),
      layout_(std::move(parts.layout)),
      ranks_(std::move(parts.ranks)),
      me_(parts.me),
      node_(layout_->node_of[static_cast<std::size_t>(me_)]),
      place_(layout_->place_of[static_cast<std::size_t>(me_)]),
      channel_(parts.channel),
      data_channel_(parts.data_channel),
      mesh_(parts.mesh),
      data_(parts.data),
      tuning_(parts.tuning),
      status_(std::move(parts.status)) {}

bool NodesLink::begun() const {
  if (words_.begun()) return true;
  if (!leads()) return false;
  const auto has_come = [this](int distance) {
    return mesh_.waiting(leader((node_ + nodes() - distance) % nodes()), tag(kWordsLane));
  };
  return std::ranges::any_of(vote_distances(nodes()), has_come);
}

// First to the leader of the node, then among leaders, then what came out to everyone of the node.
Task NodesLink::combine(std::span<std::uint64_t> words, bool summons) {
  const auto refuses = [&] { return words.size() == 1 && words[0] == 0 && leads(); };
  if (refuses()) refuse_across(combines_);  // others wait for it, and for nobody else here
  co_await words_.gather(words, summons);
  if (refuses()) refuse_across(combines_);
  if (leads()) co_await across(words);
  co_await words_.hand_out(words);
  ++combines_;
  show_refusals();
}

// In step s everyone passes on what it knows to the node 2^s after it.
Task NodesLink::across(std::span<std::uint64_t> words) {
  for (const int distance : vote_distances(nodes())) {
    const SharedBuffer mine(words.size_bytes()), theirs(words.size_bytes());
    if (!words.empty()) std::memcpy(mine.data(), words.data(), words.size_bytes());
    mesh_.send(leader((node_ + distance) % nodes()), tag(kWordsLane), mine);
    ++traffic_.messages;
    traffic_.bytes += words.size_bytes() + sizeof(FrameHeader);
    co_await arrives(mesh_.receive(leader((node_ + nodes() - distance) % nodes()), tag(kWordsLane), theirs));
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, theirs.data() + i * sizeof(word), sizeof(word));
      words[i] = std::min(words[i], word);
    }
  }
}

void NodesLink::send_text(int to, const std::string& text) {
  const SharedBuffer content(text.size());
  if (!text.empty()) std::memcpy(content.data(), text.data(), text.size());
  mesh_.send(to, tag(kTextLane), content);
  ++traffic_.messages;
  traffic_.bytes += sizeof(FrameHeader) + text.size();
}

Task NodesLink::receive_text(int from, std::string& text) {
  co_await until([this, from] { return mesh_.waiting(from, tag(kTextLane)); });
  const SharedBuffer content = mesh_.take(from, tag(kTextLane));
  text.assign(reinterpret_cast<const char*>(content.data()), content.size());
}

Task NodesLink::spread(std::string& bytes, int from) {
  const int source = node_of(from);
  if (node_ == source) co_await local_->spread(bytes, place_of(from));
  if (leads()) co_await spread_across(bytes, source);
  if (node_ != source) co_await local_->spread(bytes, 0);
}

// To the root of the tree, and down from there.
Task NodesLink::spread_across(std::string& bytes, int source) {
  const TreePlace place = tree_place(node_, nodes());
  if (node_ == source && source != 0) send_text(leader(0), bytes);
  if (node_ == 0 && source != 0) co_await receive_text(leader(source), bytes);
  std::string again;  // the source hears what it has said, too: so who sends what does not depend on it
  if (node_ != 0) co_await receive_text(leader(place.parent), node_ == source ? again : bytes);
  for (const int child : place.children) send_text(leader(child), bytes);
}

Task NodesLink::tell(std::string mine, std::vector<std::string>& all) {
  std::vector<std::string> told;
  co_await local_->tell(std::move(mine), told);
  std::string packed;
  if (leads()) {
    TextRuns runs;
    for (std::string& text : told) runs.add(std::move(text));
    co_await gather_across(runs);
    packed = runs.write();
    co_await spread_across(packed, 0);
  }
  co_await local_->spread(packed, 0);
  co_await local_->combine({});  // everyone has read: the next one uses the same buffers
  const std::vector<std::string> texts = TextRuns::read(packed, ranks_->size()).all();
  all.assign(ranks_->size(), {});
  std::size_t next = 0;
  for (const int other : tree_order(0, nodes()))
    for (const int member : layout_->node(other))
      if (next < texts.size()) all[static_cast<std::size_t>(member)] = texts[next++];
}

// Up the tree: to what a node has, it adds what its children have gathered.
Task NodesLink::gather_across(TextRuns& mine) {
  const TreePlace place = tree_place(node_, nodes());
  for (const int child : place.children) {
    std::string text;
    co_await receive_text(leader(child), text);
    mine.add(TextRuns::read(text, ranks_->size()));
  }
  if (node_ != 0) send_text(leader(place.parent), mine.write());
}

std::uint64_t NodesLink::rounds_of(int member) const {
  if (is_local(member)) return local_->rounds_of(place_of(member));
  const auto gone = gone_.find(member);
  return gone == gone_.end() ? 0 : gone->second.rounds;
}

std::uint64_t NodesLink::buckets_of(int member) const {
  if (is_local(member)) return local_->buckets_of(place_of(member));
  const auto gone = gone_.find(member);
  return gone == gone_.end() ? 0 : gone->second.buckets;
}

Traffic NodesLink::traffic() const {
  const Traffic local = local_->traffic(), words = words_.traffic();
  return {traffic_.messages + local.messages + words.messages, traffic_.bytes + local.bytes + words.bytes};
}

// --- notes

void NodesLink::note(int to, char kind, std::uint64_t number, std::string_view rest) {
  const std::string text = write_note({.kind = kind, .channel = channel_, .number = number, .rest = rest});
  mesh_.note(to, text);
  ++traffic_.messages;
  traffic_.bytes += text.size() + sizeof(FrameHeader);
}

// Once a combine, however many refuse it.
void NodesLink::refuse_across(std::uint64_t number) {
  if (refused_ > number) return;
  refused_ = number + 1;
  for (const int distance : gossip_distances(nodes())) note(leader((node_ + distance) % nodes()), kRefused, number);
}

// A refusal of a combine that this node has not come to yet is kept until it has.
void NodesLink::show_refusals() {
  if (refused_ == combines_ + 1) words_.pass_on_refusal();
}

std::vector<int> NodesLink::silent_here() const {
  std::vector<int> members;
  for (const int place : words_.silent()) members.push_back(here()[static_cast<std::size_t>(place)]);
  return members;
}

std::vector<int> NodesLink::silent() const {
  std::vector<int> members = silent_here();
  if (!members.empty()) return members;
  for (const auto& [other, answer] : answers_) {
    if (answer.combine != combines_) continue;
    if (answer.unanswered > 0 && answer.unanswered < kMostUnanswered) return {};  // it will not be long
    if (answer.unanswered > 0)
      members.push_back(layout_->node(other).front());
    else
      members.insert(members.end(), answer.silent.begin(), answer.silent.end());
  }
  return members;
}

int NodesLink::ask_silent() {
  for (int other = 0; other < nodes(); ++other) {
    if (other == node_) continue;
    Answer& answer = answers_[other];
    if (answer.combine != combines_) answer = {.combine = combines_, .unanswered = 0, .silent = {}};
    ++answer.unanswered;
    note(leader(other), kAsk, combines_);
  }
  std::size_t askers = 0;  // on one node
  for (const auto& node : layout_->nodes) askers = std::max(askers, node.size());
  return (nodes() - 1) * (1 + static_cast<int>(askers));
}

void NodesLink::wake(const std::vector<int>& members) const {
  std::vector<int> places;
  for (const int member : members)
    if (is_local(member)) places.push_back(place_of(member));
  local_->wake(places);
}

void NodesLink::heard(int from, const GroupNote& said) {
  const std::uint64_t number = said.number;
  if (said.kind == kRefused) {
    if (number < combines_) return;  // it is over here
    refuse_across(number);
    show_refusals();
  } else if (said.kind == kAsk) {
    std::vector<SilentMember> missing;
    const std::vector<int> silent = number >= combines_ ? silent_here() : std::vector<int>();
    wake(silent);
    for (const int member : silent) missing.push_back({member, status_.here(rank_of(member))});
    note(from, kAnswer, number, write_silent(missing));
  } else if (said.kind == kAnswer) {
    const auto sender = std::ranges::find(*ranks_, from) - ranks_->begin();
    Answer& answer = answers_[node_of(static_cast<int>(sender))];
    if (answer.combine > number) return;  // it was asked again since
    answer = {.combine = number, .unanswered = 0, .silent = {}};
    for (SilentMember& one : read_silent(said.rest, size())) {
      answer.silent.push_back(one.member);
      status_.elsewhere(rank_of(one.member), std::move(one.doing));
    }
  }
}

}  // namespace ronde::comm::detail
