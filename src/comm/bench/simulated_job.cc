#include "ronde/comm/bench/simulated_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <malloc.h>

#include "ronde/base/error.h"
#include "ronde/comm/bench/counting_network.h"
#include "ronde/comm/bench/simulated_departure.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/link/nodes/make_link.h"
#include "ronde/comm/link/nodes/meeting.h"

namespace ronde::comm {
namespace {

using namespace detail;

constexpr std::size_t kRankArenaBytes = 8 << 20;  // of address space, for each rank
constexpr std::size_t kValues = 4;                // of a tensor
constexpr int kMostSweeps = 100'000;
constexpr std::uint64_t kHandshake = 4;  // hello, challenge, answer, welcome

// What all ranks have in common.
struct Shared {
  explicit Shared(std::vector<int> node_of)
      : layout(std::make_shared<const Layout>(Layout::of(node_of))), network(std::move(node_of)) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(layout->node_of.size()); ++rank) ranks.push_back(rank);
    all = std::make_shared<const std::vector<int>>(std::move(ranks));
  }
  EngineOptions options = {};
  EngineHooks hooks = {};
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const std::vector<int>> all;
  CountingNetwork network;
};

// One rank: its group of all, with the engine's link, and its tensors.
class Rank {
 public:
  Rank(Shared& shared, int rank, std::unique_ptr<Node> node)
      : node_(std::move(node)),
        mesh_(shared.network.mesh_of(rank)),
        context_{.options = shared.options,
                 .hooks = shared.hooks,
                 .nccl = {.host = "", .rank = rank, .deadline = std::chrono::seconds(1), .log = Log()},
                 .node = *node_,
                 .statistics = statistics_,
                 .wanted = wanted_,
                 .looks = looks_,
                 .who = [](int) { return std::string(); },
                 .stopped = [](int) { return false; },
                 .doing = [](int) { return std::string(); },
                 .run_special = [](GroupCore&, Ticket&) -> Task {
                   throw Error(Error::Kind::Bug, "a simulated rank makes no groups");
                 }} {
    const auto& here = shared.layout->node(shared.layout->node_of[static_cast<std::size_t>(rank)]);
    const std::byte* area = node_->arena().allocate_zeroed(link_area_bytes());
    const auto offset = static_cast<std::size_t>(area - node_->base(node_->rank()));
    auto link = make_link({.rank = rank,
                           .node = *node_,
                           .here = here,
                           .layout = shared.layout,
                           .all = shared.all,
                           .mesh = mesh_.get(),
                           .data = nullptr},
                          {.ranks = shared.all, .areas = std::vector<std::size_t>(here.size(), offset)});
    group_ = std::make_shared<GroupCore>(context_, "world", shared.all, std::move(link));
  }

  // `rows`: of the tensor, one is what all ask for.
  void submit(const std::string& name, std::int64_t rows = 1) {
    auto ticket = std::make_shared<Ticket>();
    values_.push_back(std::make_unique<std::vector<float>>(kValues * static_cast<std::size_t>(rows), 1.0F));
    ticket->request = {.name = name, .input = buffer_of(*values_.back())};
    ticket->description = describe(ticket->request, group_->rank());
    ticket->group = group_;
    complete(*ticket);
    ticket->slot = ticket->key = group_->names().open(name);
    if (!ticket->slot) throw Error(Error::Kind::Bug, "a simulated rank submits what is on its way");
    ticket->self = ticket;
    group_->live.fetch_add(1, std::memory_order_relaxed);
    group_->submit(*ticket);
    tickets_.push_back(std::move(ticket));
  }
  void wait() {
    for (const auto& ticket : tickets_)
      if (!ticket->ready()) group_->wait_for(*ticket);
  }
  bool advance(CountingNetwork& network, int rank) {
    bool further = false;
    for (const auto& note : network.take_notes(rank)) {
      further = true;
      if (const auto said = read_note(note.text)) group_->link().heard(note.from, *said);
    }
    return group_->advance(GroupCore::Effort::All) || further;
  }
  bool done() const {
    return std::ranges::all_of(tickets_, [](const auto& ticket) { return ticket->ready(); });
  }
  // Ends a step: what came of it is right, and whether all of it failed.
  bool sums_to(int ranks) {
    bool right = true;
    for (std::size_t i = 0; i < tickets_.size(); ++i)
      right = right && !tickets_[i]->error && values_[i]->front() == static_cast<float>(ranks);
    forget();
    return right;
  }
  bool all_mismatch() {
    const bool all = std::ranges::all_of(
        tickets_, [](const auto& one) { return one->error && one->error->kind() == Error::Kind::Mismatch; });
    forget();
    return all;
  }
  const Statistics& statistics() const { return statistics_; }
  std::uint64_t messages() const { return group_->traffic().messages; }
  bool planned() const { return group_->plans() > 0 && statistics_.votes > 0; }

 private:
  void forget() {
    ++looks_;
    tickets_.clear();
    values_.clear();
  }

  const std::unique_ptr<Node> node_;
  const std::unique_ptr<Messenger> mesh_;
  Statistics statistics_;
  int wanted_ = 0;
  std::atomic<std::uint64_t> looks_ = 0;
  GroupContext context_;
  std::shared_ptr<GroupCore> group_;
  std::vector<std::shared_ptr<Ticket>> tickets_;
  std::vector<std::unique_ptr<std::vector<float>>> values_;
};

class Simulation {
 public:
  explicit Simulation(const SimulatedJob& job) : job_(job), shared_(node_of(job)) {
    ranks_.reserve(static_cast<std::size_t>(job.ranks));
    for (const auto& node : shared_.layout->nodes) {
      auto memories = Node::for_threads(static_cast<int>(node.size()), kRankArenaBytes);
      for (std::size_t place = 0; place < node.size(); ++place)
        ranks_.push_back(std::make_unique<Rank>(shared_, node[place], std::move(memories[place])));
    }
  }

  static std::vector<int> node_of(const SimulatedJob& job) {
    std::vector<int> nodes;
    for (int rank = 0; rank < job.ranks; ++rank) nodes.push_back(rank / job.per_node);
    return nodes;
  }

  // What one step costs, in which each rank submits what `submit` says.
  template <class Submit>
  SimulatedCost step(const std::string& what, Submit submit) {
    begin();
    for (int rank = 0; rank < job_.ranks; ++rank) {
      submit(at(rank), rank);
      at(rank).wait();
    }
    run();
    return end(what);
  }
  SimulatedCost tensors(const std::string& what) {
    return step(what, [this](Rank& rank, int) { submit_all(rank); });
  }
  void submit_all(Rank& rank) const {
    for (int i = 0; i < job_.tensors; ++i) rank.submit(fmt::format("tensor {}", i));
  }
  bool sums_are_right() {
    bool right = true;
    for (const auto& rank : ranks_) right = rank->sums_to(job_.ranks) && right;
    return right;
  }
  bool all_mismatch() {
    bool all = true;
    for (const auto& rank : ranks_) all = rank->all_mismatch() && all;
    return all;
  }
  bool planned() const {
    return std::ranges::all_of(ranks_, [](const auto& rank) { return rank->planned(); });
  }

 private:
  Rank& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  void begin() {
    before_.clear();
    for (int rank = 0; rank < job_.ranks; ++rank) before_.emplace_back(at(rank).messages(), shared_.network.sent(rank));
    shared_.network.reset_depth();
  }
  void run() {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool further = false;
      shared_.network.deliver_notes();
      for (int rank = 0; rank < job_.ranks; ++rank) further = at(rank).advance(shared_.network, rank) || further;
      if (further) continue;
      if (std::ranges::all_of(ranks_, [](const auto& rank) { return rank->done(); })) return;
      throw Error(Error::Kind::Bug, "the simulated ranks wait for each other");
    }
    throw Error(Error::Kind::Bug, "the simulated ranks come to no end");
  }
  SimulatedCost end(const std::string& what) {
    SimulatedCost cost{.what = what, .depth = shared_.network.depth()};
    for (int rank = 0; rank < job_.ranks; ++rank) {
      const auto& [messages, sent] = before_[static_cast<std::size_t>(rank)];
      const SentCount& now = shared_.network.sent(rank);
      cost.messages = std::max(cost.messages, at(rank).messages() - messages);
      cost.network_messages = std::max(cost.network_messages, now.control - sent.control);
      cost.data_messages = std::max(cost.data_messages, now.data - sent.data);
      cost.bytes = std::max(cost.bytes, now.bytes - sent.bytes);
      cost.connections = std::max<std::uint64_t>(cost.connections, shared_.network.control_connections(rank));
      cost.all_connections = std::max<std::uint64_t>(cost.all_connections, shared_.network.connections(rank));
    }
    return cost;
  }

  const SimulatedJob job_;
  Shared shared_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::pair<std::uint64_t, SentCount>> before_;
};

// --- the start

std::string blob_of(int rank, const SimulatedJob& job) {
  const int node = rank / job.per_node;
  const std::string host = fmt::format("node{:05}.cluster.example", node);
  const Identity identity = identify(fmt::format("7f3c2a10-5b1d-4c7e-9a55-{:012}", node), "net:[4026531840]", host);
  const std::vector<Address> addresses{{fmt::format("10.{}.{}.{}", node >> 16, node >> 8 & 255, node & 255), 8},
                                       {fmt::format("fd00::{:x}:1", node), 64}};
  return write_told({.who = {host,
                             identity.node,
                             fmt::format("@{:032x}", rank),
                             100'000 + rank,
                             "0-63",
                             identity.machine,
                             {{"30:7", 8}}},
                     .here = {.addresses = {{"127.0.0.1", 8}, {"::1", 128}}, .port = 40'000},
                     .outside = {.addresses = addresses, .port = static_cast<std::uint16_t>(30'000 + rank % 30'000)},
                     .secret = rank == 0 ? std::string(64, 's') : ""});
}

std::uint64_t memory_in_use() {
  return mallinfo2().uordblks + mallinfo2().hblkhd;
}

int log2_of(int count) {
  int steps = 0;
  while (1 << steps < count) ++steps;
  return steps;
}

// The first rank's start, with what all others would tell it.
void simulate_start(const SimulatedJob& job, SimulatedFacts& facts) {
  const int nodes = (job.ranks + job.per_node - 1) / job.per_node;
  // MPI exchanges sizes, then contents; partners greet each other side by side.
  facts.start_rounds = 2 * static_cast<std::uint64_t>(log2_of(job.ranks)) + (nodes > 1 ? kHandshake : 0);
  const std::uint64_t before = memory_in_use();
  std::vector<std::string> blobs;
  for (int rank = 0; rank < job.ranks; ++rank) blobs.push_back(blob_of(rank, job));
  std::vector<Told> told;  // as read_everyone() has it meanwhile
  for (const std::string& blob : blobs) told.push_back(read_told(blob));
  const std::uint64_t listening = memory_in_use() - before;
  told = {};
  const std::uint64_t with_blobs = memory_in_use();
  Peers peers;
  peers.take_job(read_everyone(blobs, 0, /*any_interface=*/true).job);
  const std::uint64_t kept = memory_in_use() - with_blobs;
  const auto here = static_cast<std::size_t>(std::min(job.per_node, job.ranks));
  facts.start_bytes = listening + kept + areas_bytes(here);
  const int others = job.ranks - static_cast<int>(here);
  facts.bytes_per_peer = others > 0 ? static_cast<double>(kept) / others : 0.0;
}

}  // namespace

SimulatedFacts simulate_job(const SimulatedJob& job) {
  SimulatedFacts facts;
  simulate_start(job, facts);
  Simulation simulation(job);
  const auto right = [&] { facts.sums_are_right = simulation.sums_are_right() && facts.sums_are_right; };
  facts.costs.push_back(simulation.tensors("new names"));
  right();
  facts.costs.push_back(simulation.tensors("known names"));
  right();
  for (int times = 0; times < 4 && !simulation.planned(); ++times) {
    simulation.tensors("");
    right();
  }
  simulation.tensors("");
  right();
  facts.costs.push_back(simulation.tensors("a bucket of a plan"));
  right();
  facts.costs.push_back(simulation.step("one rank deviates", [&](Rank& rank, int number) {
    if (number == job.ranks / 2) rank.submit("another");
    simulation.submit_all(rank);
    if (number != job.ranks / 2) rank.submit("another");
  }));
  right();
  for (int times = 0; times < 4; ++times) {
    simulation.tensors("");
    right();
  }
  facts.costs.push_back(simulation.step("all ranks deviate", [&](Rank& rank, int) {
    rank.submit("a third");
    simulation.submit_all(rank);
  }));
  right();
  facts.costs.push_back(simulation.step("one rank means another shape", [&](Rank& rank, int number) {
    rank.submit("different", number == job.ranks / 2 ? 2 : 1);
  }));
  facts.sums_are_right = simulation.all_mismatch() && facts.sums_are_right;
  for (SimulatedCost& cost : simulate_departures(job)) facts.costs.push_back(std::move(cost));
  return facts;
}

}  // namespace ronde::comm
