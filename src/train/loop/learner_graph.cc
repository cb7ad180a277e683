// Steps of a learner as CUDA graphs.
#include <functional>
#include <numeric>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"
#include "ronde/train/loop/agree.h"
#include "ronde/train/loop/exchange.h"
#include "ronde/train/loop/learner.h"

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

}  // namespace

void Learner::start_graph() {
  const TrainingOptions& options = session_.options();
  const Log log({.level = options.log_level, .rank = session_.rank()});
  const bool insists = options.graph == "on";
  const GraphFacts facts = graph_facts();
  std::string why_not = why_no_graph(facts);
  if (facts.on_gpu) why_not = objection(why_not, "steps as graphs", session_.world());
  if (!why_not.empty()) {
    if (insists) throw Error::bad_input("train.graph is on, but {}", why_not);
    if (facts.on_gpu && facts.setting != "off" && session_.rank() == 0)
      log.info("steps are launched kernel by kernel: {}", why_not);
    return;
  }
  if (session_.size() > 1 && sync_every_ == 1) in_graph_ = connected_group(session_);
  graph_.emplace(session_.world(), log, insists);
}

GraphFacts Learner::graph_facts() const {
  const TrainingOptions& options = session_.options();
  GraphFacts facts;
  facts.setting = options.graph;
  facts.on_gpu = session_.device().is_cuda();
  facts.why_no_graphs = StepGraph::why_none();
  facts.optimizer = options.optimizer.name;
  facts.fused = fused_ != nullptr;
  facts.f16_on_host = scaling_.has_value();
  facts.local = sync_every_ > 1;
  facts.ranks = session_.size();
  facts.why_not_nccl = session_.world().why_not_nccl();  // weights have travelled
  facts.reduce = options.reduce;
  facts.compression = options.compression;
  facts.synced_norms = options.model.norm == "sync";
  facts.traced_modules = modules_.has_value();
  facts.recompute = options.model.recompute;
  return facts;
}

GraphedStep::Hooks Learner::graph_hooks() {
  const auto fix_exchange = [this](bool on) {
    if (in_graph_)
      distributed_->reduce_by(on ? parallel::ReduceBucket(std::bind_front(&Learner::reduce_in_stream, this)) : nullptr);
  };
  const auto given_up = [this] {  // all ranks are here
    if (in_graph_) session_.engine().drop_group(*std::exchange(in_graph_, std::nullopt));
  };
  return {.prepare = [this] { fused_->prepare_step(); },
          .recorded = [this] { fused_->captured(); },
          .launched = [this] { launched(); },
          .fix_exchange = fix_exchange,
          .why_not_fixed = [this] { return in_graph_ ? why_no_fixed_exchange() : std::string(); },
          .given_up = given_up};
}

void Learner::launched() {
  fused_->replayed();
  if (in_graph_) in_graph_->launched_in_stream(parallel::current_stream(session_.device()));
}

// Nobody waits for what a graph exchanges, so nobody would hear that NCCL has given up: ranks would drift apart.
void Learner::check_exchange() const {
  if (!in_graph_) return;
  if (const std::string why = in_graph_->why_not_nccl(); !why.empty())
    throw Error(Error::Kind::System,
                fmt::format("rank {} no longer exchanges gradients with others: {}", session_.rank(), why));
}

comm::InStream Learner::in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients) const {
  comm::InStream what{.number = number};
  what.op = reduce_op_of(session_.options().reduce);
  for (const torch::Tensor& gradient : gradients) what.buffers.push_back(parallel::buffer_of(gradient));
  return what;
}

std::string Learner::why_no_fixed_exchange() const {
  if (std::string why = distributed_->why_not_reduced_by(); !why.empty()) return why;
  try {
    std::vector<comm::InStream> all;
    for (const auto& parameters : distributed_->buckets()) all.push_back(in_stream(all.size(), parameters));
    in_graph_->reserve_in_stream(all);
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

device::Event Learner::reduce_in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients,
                                        const device::Event& made) const {
  device::Event done(parallel::current_stream(gradients.front().device()));
  in_graph_->allreduce_in_stream(in_stream(number, gradients), made, done);
  return done;
}

}  // namespace ronde::train
