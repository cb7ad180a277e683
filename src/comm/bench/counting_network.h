#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/comm/link/messenger.h"
#include "ronde/comm/link/nodes/nodes_lanes.h"
#include "ronde/comm/link/tcp/mesh_frame.h"

// A network between ranks of one thread that only counts. A message has come as soon as it is sent.
namespace ronde::comm::detail {

// What one rank has sent so far.
struct SentCount {
  std::uint64_t control = 0, data = 0, bytes = 0;  // messages that agree, notes among them; those with data; of both
};

class CountingNetwork {
 public:
  // `node_of`: by rank. Ranks of one node are taken to hear of each other at once.
  explicit CountingNetwork(std::vector<int> node_of)
      : node_of_(std::move(node_of)),
        boxes_(node_of_.size()),
        sent_(node_of_.size()),
        to_(node_of_.size()),
        from_(node_of_.size()),
        depth_(static_cast<std::size_t>(std::ranges::max(node_of_)) + 1) {}

  struct Note {
    int from = 0;
    std::string text;
    std::uint64_t depth = 0;
  };

  std::unique_ptr<Messenger> mesh_of(int rank);
  const SentCount& sent(int rank) const { return sent_[index(rank)]; }
  // One-way connections that a rank has, in either direction; a message needs one. And those over which ranks agree.
  std::size_t connections(int rank) const { return to_[index(rank)].size() + from_[index(rank)].size(); }
  std::size_t control_connections(int rank) const {
    const auto agrees = [](const auto& one) { return one.second; };
    return static_cast<std::size_t>(std::ranges::count_if(to_[index(rank)], agrees) +
                                    std::ranges::count_if(from_[index(rank)], agrees));
  }
  // The longest chain of messages of which each was sent after the one before had come, since the last reset.
  std::uint64_t depth() const { return std::ranges::max(depth_); }
  void reset_depth() { std::ranges::fill(depth_, 0); }
  // Notes take a while: they have come when all ranks have had their turn.
  void deliver_notes() {
    for (Box& box : boxes_) {
      std::ranges::move(box.notes, std::back_inserter(box.notes_here));
      box.notes.clear();
    }
  }
  // Those that have come for a rank, and that it has not heard of yet.
  std::vector<Note> take_notes(int rank) {
    auto notes = std::exchange(boxes_[index(rank)].notes_here, {});
    for (const Note& note : notes) come(rank, note.depth);
    return notes;
  }

 private:
  friend class CountingMesh;
  struct Message {
    SharedBuffer buffer;
    std::uint64_t depth = 0;
  };
  struct Asked {
    SharedBuffer buffer;
    std::shared_ptr<MessageState> message;
  };
  struct Line {
    std::deque<Message> come;
    std::deque<Asked> asked;
  };
  struct Box {
    std::unordered_map<std::uint64_t, Line> lines;
    std::vector<Note> notes, notes_here;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  static std::uint64_t key(int from, Tag tag) {
    return static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(tag.channel) << 8 | tag.lane;
  }
  std::uint64_t& clock(int rank) { return depth_[index(node_of_[index(rank)])]; }
  void come(int rank, std::uint64_t depth) { clock(rank) = std::max(clock(rank), depth); }
  std::uint64_t count(int from, int to, bool control, std::size_t bytes) {
    SentCount& sent = sent_[index(from)];
    ++(control ? sent.control : sent.data);
    sent.bytes += sizeof(FrameHeader) + bytes;
    for (bool* agrees : {&to_[index(from)][to], &from_[index(to)][from]}) *agrees = *agrees || control;
    return clock(from) + 1;
  }
  void meet(int rank, Line& line) {
    while (!line.come.empty() && !line.asked.empty()) {
      const Message& message = line.come.front();
      Asked& asked = line.asked.front();
      if (message.buffer.size() != asked.buffer.size())
        throw Error(Error::Kind::Bug, "a message has another size than was expected");
      if (message.buffer.size() > 0) std::memcpy(asked.buffer.data(), message.buffer.data(), message.buffer.size());
      asked.message->done = true;
      come(rank, message.depth);
      line.come.pop_front();
      line.asked.pop_front();
    }
  }

  const std::vector<int> node_of_;
  std::vector<Box> boxes_;
  std::vector<SentCount> sent_;
  std::vector<std::map<int, bool>> to_, from_;  // by rank: its connections, and whether it agrees over them
  std::vector<std::uint64_t> depth_;            // by node
};

// One rank's end of it.
class CountingMesh final : public Messenger {
 public:
  CountingMesh(CountingNetwork& network, int rank) : network_(network), rank_(rank) {}

  PendingMessage send(int to, Tag tag, SharedBuffer buffer) override {
    const bool control = tag.lane == kTextLane || tag.lane == kWordsLane;
    SharedBuffer copy(buffer.size());
    if (buffer.size() > 0) std::memcpy(copy.data(), buffer.data(), buffer.size());
    const std::uint64_t depth = network_.count(rank_, to, control, buffer.size());
    auto& line = network_.boxes_[CountingNetwork::index(to)].lines[CountingNetwork::key(rank_, tag)];
    line.come.push_back({std::move(copy), depth});
    network_.meet(to, line);
    return done_;
  }
  PendingMessage receive(int from, Tag tag, SharedBuffer buffer) override {
    auto message = std::make_shared<MessageState>();
    auto& line = own().lines[CountingNetwork::key(from, tag)];
    line.asked.push_back({std::move(buffer), message});
    network_.meet(rank_, line);
    return message;
  }
  bool waiting(int from, Tag tag) const override {
    const auto& lines = own().lines;
    const auto line = lines.find(CountingNetwork::key(from, tag));
    return line != lines.end() && !line->second.come.empty();
  }
  SharedBuffer take(int from, Tag tag) override {
    auto& line = own().lines.at(CountingNetwork::key(from, tag));
    const auto message = std::move(line.come.front());
    line.come.pop_front();
    network_.come(rank_, message.depth);
    return message.buffer;
  }
  void note(int to, std::string_view text) override {
    const std::uint64_t depth = network_.count(rank_, to, true, text.size());
    network_.boxes_[CountingNetwork::index(to)].notes.push_back({rank_, std::string(text), depth});
  }
  bool pump() override { return false; }
  bool must_be_pumped() const override { return false; }

 private:
  CountingNetwork::Box& own() const { return network_.boxes_[CountingNetwork::index(rank_)]; }

  CountingNetwork& network_;
  const int rank_;
  const PendingMessage done_ = std::make_shared<MessageState>(MessageState{.done = true});
};

inline std::unique_ptr<Messenger> CountingNetwork::mesh_of(int rank) {
  return std::make_unique<CountingMesh>(*this, rank);
}

}  // namespace ronde::comm::detail
