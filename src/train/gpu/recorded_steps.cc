#include "ronde/train/gpu/recorded_steps.h"

#include <functional>
#include <numeric>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/train/loop/agree.h"
#include "ronde/train/loop/exchange.h"

namespace ronde::train {
namespace {

// All ranks, in a group whose stream recorded steps use by themselves; it has met once, in the usual way.
comm::Group connected_group(const Session& session) {
  std::vector<int> all(static_cast<std::size_t>(session.size()));
  std::iota(all.begin(), all.end(), 0);
  const comm::Group group = session.engine().make_group(std::move(all));
  const torch::Tensor one = torch::ones({1}, session.device());
  comm::Request request{.name = "recorded steps"};
  request.input = parallel::buffer_of(one);
  request.stream = parallel::stream_of(one);
  group.run(std::move(request));
  return group;
}

// Adds what the settings and the ranks say.
GraphFacts complete(GraphFacts facts, const Session& session) {
  const TrainingOptions& options = session.options();
  facts.setting = options.graph;
  facts.on_gpu = session.device().is_cuda();
  facts.why_no_graphs = StepGraph::why_none();
  facts.optimizer = options.optimizer.name;
  facts.ranks = session.size();
  facts.why_not_nccl = session.world().why_not_nccl();  // weights have travelled
  facts.reduce = options.reduce;
  facts.compression = options.compression;
  facts.synced_norms = options.model.norm == "sync";
  facts.recompute = options.model.recompute;
  return facts;
}

}  // namespace

RecordedSteps::RecordedSteps(const Session& session, DistributedOptimizer& optimizer, Fused* fused, GraphFacts facts)
    : session_(session), optimizer_(optimizer), fused_(fused) {
  const Log log({.level = session.options().log_level, .rank = session.rank()});
  const bool insists = session.options().graph == "on";
  facts.fused = fused != nullptr;
  facts = complete(std::move(facts), session);
  std::string why_not = why_no_graph(facts);
  if (facts.on_gpu) why_not = objection(why_not, "steps as graphs", session.world());
  if (!why_not.empty()) {
    if (insists) throw Error::bad_input("train.graph is on, but {}", why_not);
    if (facts.on_gpu && facts.setting != "off" && session.rank() == 0)
      log.info("steps are launched kernel by kernel: {}", why_not);
    return;
  }
  if (session.size() > 1 && !facts.local) exchange_ = connected_group(session);
  graph_.emplace(session.world(), log, insists);
}

torch::Tensor RecordedSteps::run(const StepBatch& batch, StepKind kind, const GraphedStep::Work& work) {
  return graph_ ? graph_->run(batch, kind, work, hooks()) : work(batch);
}

GraphedStep::Hooks RecordedSteps::hooks() {
  const auto fix_exchange = [this](bool on) {
    if (exchange_)
      optimizer_.reduce_by(on ? parallel::ReduceBucket(std::bind_front(&RecordedSteps::reduce_in_stream, this))
                              : nullptr);
  };
  const auto given_up = [this] {  // all ranks are here
    if (exchange_) session_.engine().drop_group(*std::exchange(exchange_, std::nullopt));
  };
  return {.prepare = [this] { fused_->prepare_step(); },
          .recorded = [this] { fused_->captured(); },
          .launched = [this] { launched(); },
          .fix_exchange = fix_exchange,
          .why_not_fixed = [this] { return exchange_ ? why_no_fixed_exchange() : std::string(); },
          .given_up = given_up};
}

void RecordedSteps::launched() {
  fused_->replayed();
  if (exchange_) exchange_->launched_in_stream(parallel::current_stream(session_.device()));
}

// Nobody waits for what a graph exchanges, so nobody would hear that NCCL has given up: ranks would drift apart.
void RecordedSteps::check_exchange() const {
  if (!exchange_) return;
  if (const std::string why = exchange_->why_not_nccl(); !why.empty())
    throw Error(Error::Kind::System,
                fmt::format("rank {} no longer exchanges gradients with others: {}", session_.rank(), why));
}

comm::InStream RecordedSteps::in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients) const {
  comm::InStream what{.number = number};
  what.op = reduce_op_of(session_.options().reduce);
  for (const torch::Tensor& gradient : gradients) what.buffers.push_back(parallel::buffer_of(gradient));
  return what;
}

std::string RecordedSteps::why_no_fixed_exchange() const {
  if (std::string why = optimizer_.why_not_reduced_by(); !why.empty()) return why;
  try {
    std::vector<comm::InStream> all;
    for (const auto& parameters : optimizer_.buckets()) all.push_back(in_stream(all.size(), parameters));
    exchange_->reserve_in_stream(all);
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

device::Event RecordedSteps::reduce_in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients,
                                              const device::Event& made) const {
  device::Event done(parallel::current_stream(gradients.front().device()));
  exchange_->allreduce_in_stream(in_stream(number, gradients), made, done);
  return done;
}

}  // namespace ronde::train
