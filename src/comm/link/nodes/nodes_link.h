#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/comm/link/link.h"
#include "ronde/comm/link/messenger.h"
#include "ronde/comm/link/nodes/inter_node.h"
#include "ronde/comm/link/nodes/layout.h"
#include "ronde/comm/link/nodes/node_words.h"
#include "ronde/comm/link/nodes/nodes_notes.h"
#include "ronde/comm/link/shm/shm_link.h"

namespace ronde::comm::detail {

// How data goes between nodes.
struct NodesTuning {
  std::size_t small_bytes = 32 << 10;  // up to here one rank a node does it all
  // Of a node; what is larger is cut, so that node and network work side by side. More on many nodes:
  // chunk_bytes_for().
  std::size_t chunk_bytes = 2 << 20;
  int depth = 3;                                     // chunks on their way between nodes at once
  bool in_order = false;                             // sum in the order of nodes, always
  std::optional<InterNodeAlgorithm> algorithm = {};  // none: choose_inter_node()
};

// The link between ranks of several nodes: inside a node shared memory, between nodes messages. Agreeing goes over the
// mesh, by the first member of each node, along the routes of routes.h; data over whatever transport there is, by all
// members side by side.
class NodesLink final : public Link {
 public:
  // What ranks are doing, for reports about those that do not come.
  struct Status {
    std::function<std::string(int rank)> here = {};                  // asks about a rank of this node
    std::function<void(int rank, std::string text)> elsewhere = {};  // tells about one of another
  };
  struct Parts {
    std::unique_ptr<ShmLink> local;  // the members of this node,
    NodeWords words;                 // and how they agree with others
    std::shared_ptr<const Layout> layout;
    std::shared_ptr<const std::vector<int>> ranks;  // of the job, by member
    int me = 0;                                     // member
    std::uint32_t channel = 0, data_channel = 0;
    Messenger& mesh;
    Transport& data;
    NodesTuning tuning = {};
    Status status = {};
  };
  explicit NodesLink(Parts parts);

  int rank() const override { return me_; }
  int size() const override { return static_cast<int>(ranks_->size()); }
  bool near() const override { return false; }

  bool begun() const override;
  bool refused() const override { return words_.refused(); }
  std::vector<int> silent() const override;
  int ask_silent() override;
  void wake(const std::vector<int>& members) const override;
  using Link::combine;
  Task combine(std::span<std::uint64_t> words, bool summons) override;
  Task spread(std::string& bytes, int from) override;
  Task tell(std::string mine, std::vector<std::string>& all) override;
  void finish_round() override { local_->finish_round(); }
  void finish_bucket() override { local_->finish_bucket(); }
  std::uint64_t rounds_of(int member) const override;
  std::uint64_t buckets_of(int member) const override;
  Traffic traffic() const override;

  std::vector<std::string> algorithms() const override;
  void use_algorithm(std::size_t index) override;
  Task allreduce(Segments data, math::Reduction reduction) override;
  Task reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) override;
  Task reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) override;
  Task broadcast(Bytes data, int root) override;
  Task allgather(ConstBytes mine, std::vector<Bytes> out) override;
  Task alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) override;
  Task barrier() override;
  Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) override;
  Task swap(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& theirs) override;

  void heard(int from, const GroupNote& said) override;
  void left(int member, std::uint64_t rounds, std::uint64_t buckets) override { gone_[member] = {rounds, buckets}; }

 private:
  int node_of(int member) const { return layout_->node_of[static_cast<std::size_t>(member)]; }
  int place_of(int member) const { return layout_->place_of[static_cast<std::size_t>(member)]; }
  int rank_of(int member) const { return (*ranks_)[static_cast<std::size_t>(member)]; }
  bool is_local(int member) const { return node_of(member) == node_; }
  int leader(int node) const { return rank_of(layout_->node(node).front()); }  // as a rank of the job
  bool leads() const { return place_ == 0; }
  int nodes() const { return layout_->count(); }
  const std::vector<int>& here() const { return layout_->node(node_); }
  Tag tag(std::uint32_t lane) const { return {channel_, lane}; }  // over the mesh
  Tag data_tag(std::uint32_t lane) const { return {data_channel_, lane}; }
  // Of this node's members only.
  template <class T>
  std::vector<T> local_part(const std::vector<T>& by_member) const {
    std::vector<T> part;
    for (const int member : here()) part.push_back(by_member[static_cast<std::size_t>(member)]);
    return part;
  }

  Task across(std::span<std::uint64_t> words);
  Task spread_across(std::string& bytes, int source);
  Task gather_across(TextRuns& mine);
  void send_text(int to, const std::string& text);
  Task receive_text(int from, std::string& text);
  void note(int to, char kind, std::uint64_t number, std::string_view rest = {});
  void refuse_across(std::uint64_t number);
  void show_refusals();
  std::vector<int> silent_here() const;

  Task gather_over(Transport& transport, Tag tag, ConstBytes mine, std::vector<Bytes> out);
  Task gather_directly(Transport& transport, Tag tag, ConstBytes mine, std::vector<Bytes> out);
  Task reduce_directly(ConstBytes data, Bytes out, int root, math::Reduction reduction);
  Task reduce_scatter_directly(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction);

  // Of many nodes, one member of each works in step with those in its place on the others: a line. Where nodes differ
  // in size there is one line, of the leaders. Everyone has partners at vote_distances() only; nodes_lines.cc.
  bool many_nodes() const { return nodes() > kFewNodes; }
  std::size_t lines() const { return layout_->widest() == layout_->narrowest() ? layout_->widest() : 1; }
  int in_line(int distance) const;  // the rank of my line, so many nodes after mine
  std::span<const int> of_line(int node, std::size_t line) const;
  // Where in a bundle the parts of nodes lie: this one's first, then that of the node before it, and so on.
  struct Bundle {
    std::vector<int> members = {};
    std::vector<std::size_t> begins = {};  // by node in that order; behind them the end
  };
  template <class Part>
  Bundle bundle_of(std::size_t line, const std::vector<Part>& parts) const;
  Task gather_by_lines(Transport& transport, Tag tag, ConstBytes mine, std::vector<Bytes> out);
  Task reduce_scatter_by_lines(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction);
  Task reduce_by_tree(ConstBytes data, Bytes out, int root, math::Reduction reduction);
  InterNodeAlgorithm algorithm_for(std::size_t bytes) const;
  Task allreduce_small(Segments data, math::Reduction reduction);
  Task allreduce_large(Segments data, math::Reduction reduction);

  const std::unique_ptr<ShmLink> local_;
  NodeWords words_;
  const std::shared_ptr<const Layout> layout_;
  const std::shared_ptr<const std::vector<int>> ranks_;
  const int me_, node_, place_;
  const std::uint32_t channel_, data_channel_;
  Messenger& mesh_;
  Transport& data_;
  NodesTuning tuning_;
  const Status status_;

  std::uint64_t combines_ = 0;
  std::uint64_t refused_ = 0;  // the last combine that is known on other nodes to be refused, plus one
  Traffic traffic_;
  struct Done {
    std::uint64_t rounds = 0, buckets = 0;
  };
  std::map<int, Done> gone_;  // by member: those whose memory we do not see
  struct Answer {
    std::uint64_t combine = 0;
    int unanswered = 0;  // questions
    std::vector<int> silent = {};
  };
  std::map<int, Answer> answers_;  // by node: who was missing in which combine
};

}  // namespace ronde::comm::detail
