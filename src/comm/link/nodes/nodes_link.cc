// How members on several nodes agree.
#include "ronde/comm/link/nodes/nodes_link.h"

#include <algorithm>
#include <cstring>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/nodes_lanes.h"
#include "ronde/comm/link/nodes/nodes_notes.h"

namespace ronde::comm::detail {
namespace {

// Kinds of notes.
constexpr char kRefused = 'r', kAsk = 'q', kAnswer = 'a';

constexpr int kMostUnanswered = 2;  // questions, before a node counts as silent

constexpr std::uint64_t kLongestText = 1 << 30;  // that members tell each other

}  // namespace

NodesLink::NodesLink(Parts parts)
    : local_(std::move(parts.local)),
      layout_(std::move(parts.layout)),
      ranks_(std::move(parts.ranks)),
      me_(parts.me),
      node_(layout_.node_of[static_cast<std::size_t>(me_)]),
      place_(layout_.place_of[static_cast<std::size_t>(me_)]),
      channel_(parts.channel),
      data_channel_(parts.data_channel),
      mesh_(parts.mesh),
      data_(parts.data),
      tuning_(parts.tuning),
      status_(std::move(parts.status)) {}

bool NodesLink::begun() const {
  if (local_->begun()) return true;
  if (!leads()) return false;
  for (int distance = 1; distance < nodes(); distance *= 2)
    if (mesh_.waiting(leader((node_ + nodes() - distance) % nodes()), tag(kWordsLane))) return true;
  return false;
}

// First the node, then the nodes among themselves, then what came out to everyone of the node: of a minimum over words
// of which all but the leader's are the largest there are.
Task NodesLink::combine(std::span<std::uint64_t> words, bool summons) {
  if (words.size() == 1 && words[0] == 0) {
    for (int other = 0; other < nodes(); ++other)
      if (other != node_) note(leader(other), kRefused, combines_);
  }
  stage_ = Stage::InNode;
  co_await local_->combine(words, summons);
  stage_ = Stage::InterNode;
  if (leads()) {
    co_await across(words);
  } else {
    std::ranges::fill(words, ~std::uint64_t{0});
  }
  co_await local_->combine_quietly(words);
  stage_ = Stage::None;
  ++combines_;
  show_refusals();
}

Task NodesLink::across(std::span<std::uint64_t> words) {
  for (int distance = 1; distance < nodes(); distance *= 2) {
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

Task NodesLink::send_text(int to, const std::string& text) {
  const SharedBuffer length(sizeof(std::uint64_t)), content(text.size());
  const std::uint64_t bytes = text.size();
  std::memcpy(length.data(), &bytes, sizeof(bytes));
  std::memcpy(content.data(), text.data(), text.size());
  mesh_.send(to, tag(kTextLane), length);
  mesh_.send(to, tag(kTextLane), content);
  traffic_.messages += 2;
  traffic_.bytes += sizeof(bytes) + text.size();
  co_return;
}

Task NodesLink::receive_text(int from, std::string& text) {
  const SharedBuffer length(sizeof(std::uint64_t));
  co_await arrives(mesh_.receive(from, tag(kTextLane), length));
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, length.data(), sizeof(bytes));
  if (bytes > kLongestText)
    throw Error(Error::Kind::System, fmt::format("rank {} announced a text of {} bytes", from, bytes));
  const SharedBuffer content(bytes);
  co_await arrives(mesh_.receive(from, tag(kTextLane), content));
  text.assign(reinterpret_cast<const char*>(content.data()), bytes);
}

Task NodesLink::spread(std::string& bytes, int from) {
  const int source = node_of(from);
  if (node_ == source) co_await local_->spread(bytes, place_of(from));
  if (leads()) co_await spread_across(bytes, source);
  if (node_ != source) co_await local_->spread(bytes, 0);
}

// Who has it hands it to the node at distance 1, then both at distance 2, and so on.
Task NodesLink::spread_across(std::string& bytes, int source) {
  const int mine = (node_ + nodes() - source) % nodes();  // as if the source were node 0
  for (int distance = 1; distance < nodes(); distance *= 2) {
    if (mine < distance && mine + distance < nodes())
      co_await send_text(leader((node_ + distance) % nodes()), bytes);
    else if (mine >= distance && mine < 2 * distance)
      co_await receive_text(leader((node_ + nodes() - distance) % nodes()), bytes);
  }
}

Task NodesLink::tell(std::string mine, std::vector<std::string>& all) {
  std::vector<std::string> told;
  co_await local_->tell(std::move(mine), told);
  std::vector<std::string> by_node;
  std::string packed = pack_texts(told);
  if (leads()) {
    co_await tell_across(std::move(packed), by_node);
    packed = pack_texts(by_node);
  }
  co_await local_->spread(packed, 0);
  co_await local_->combine({});  // everyone has read: the next one uses the same buffers
  all.assign(ranks_.size(), {});
  by_node = unpack_texts(packed);
  by_node.resize(static_cast<std::size_t>(nodes()));
  for (int other = 0; other < nodes(); ++other) {
    std::vector<std::string> texts = unpack_texts(by_node[static_cast<std::size_t>(other)]);
    texts.resize(layout_.node(other).size());
    for (std::size_t i = 0; i < texts.size(); ++i)
      all[static_cast<std::size_t>(layout_.node(other)[i])] = std::move(texts[i]);
  }
}

// It is rare: everyone to everyone.
Task NodesLink::tell_across(std::string mine, std::vector<std::string>& all) {
  all.assign(static_cast<std::size_t>(nodes()), {});
  for (int other = 0; other < nodes(); ++other)
    if (other != node_) co_await send_text(leader(other), mine);
  for (int other = 0; other < nodes(); ++other)
    if (other != node_) co_await receive_text(leader(other), all[static_cast<std::size_t>(other)]);
  all[static_cast<std::size_t>(node_)] = std::move(mine);
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
  const Traffic local = local_->traffic();
  return {traffic_.messages + local.messages, traffic_.bytes + local.bytes};
}

// --- notes

void NodesLink::note(int to, char kind, std::uint64_t number, std::string_view rest) {
  const std::string text = write_note({.kind = kind, .channel = channel_, .number = number, .rest = rest});
  mesh_.note(to, text);
  ++traffic_.messages;
  traffic_.bytes += text.size() + sizeof(FrameHeader);
}

// A refusal of a combine that this node has not come to yet is kept until it has.
void NodesLink::show_refusals() {
  if (refused_ == combines_ + 1) local_->pass_on_refusal();
}

std::vector<int> NodesLink::silent_here() const {
  if (stage_ == Stage::InterNode) return {};
  std::vector<int> members;
  for (const int place : local_->silent()) members.push_back(here()[static_cast<std::size_t>(place)]);
  return members;
}

std::vector<int> NodesLink::silent() const {
  std::vector<int> members = silent_here();
  if (!members.empty()) return members;
  for (const auto& [other, answer] : answers_) {
    if (answer.combine != combines_) continue;
    if (answer.unanswered > 0 && answer.unanswered < kMostUnanswered) return {};  // it will not be long
    if (answer.unanswered > 0)
      members.push_back(layout_.node(other).front());
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
  for (const auto& node : layout_.nodes) askers = std::max(askers, node.size());
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
    refused_ = std::max(refused_, number + 1);
    show_refusals();
  } else if (said.kind == kAsk) {
    std::vector<SilentMember> missing;
    const std::vector<int> silent = number >= combines_ ? silent_here() : std::vector<int>();
    wake(silent);
    for (const int member : silent) missing.push_back({member, status_.here(rank_of(member))});
    note(from, kAnswer, number, write_silent(missing));
  } else if (said.kind == kAnswer) {
    const auto sender = std::ranges::find(ranks_, from) - ranks_.begin();
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
