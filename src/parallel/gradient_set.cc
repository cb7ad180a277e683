#include "ronde/parallel/gradient_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include <torch/csrc/autograd/engine.h>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/gradient.h"
#include "ronde/parallel/detail/gradient_norm.h"
#include "ronde/parallel/detail/recorded_round.h"

namespace ronde::parallel {

using detail::Gradient, detail::Presence, detail::RecordedRound, detail::Wire;

namespace {

using Accumulator = decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::Tensor&>()));

constexpr std::size_t kAlone = static_cast<std::size_t>(-1);

class Hook : public torch::autograd::FunctionPostHook {
 public:
  explicit Hook(std::function<void()> made) : made_(std::move(made)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& /*inputs*/) override {
    made_();
    return outputs;
  }

 private:
  std::function<void()> made_;
};

Wire wire_of(const DistributedOptions& options, int size) {
  using comm::ReduceOp;
  if (options.op != ReduceOp::Average && options.op != ReduceOp::Sum && options.op != ReduceOp::Adasum)
    throw Error::bad_input("gradients can be averaged, summed or combined by Adasum, but not reduced with '{}'",
                           comm::name(options.op));
  if (options.predivide != 1.0 && options.op != ReduceOp::Average)
    throw Error::bad_input("predivide works with average only, not with {}", comm::name(options.op));
  if (!(options.predivide > 0)) throw Error::bad_input("predivide must be above 0, got {}", options.predivide);
  if (options.accumulate < 1)
    throw Error::bad_input("accumulate must be at least 1 backward pass per step, got {}", options.accumulate);
  Wire wire{.op = options.op,
            .compression = options.compression,
            .sparse_as_dense = options.sparse_as_dense,
            .sparse_again = options.sparse_again,
            .compress = options.compress,
            .decompress = options.decompress};
  if (options.op == ReduceOp::Average) wire.sparse_scale = 1.0 / size;
  if (options.predivide != 1.0) {
    wire.op = ReduceOp::Sum;
    wire.prescale = 1.0 / options.predivide;
    wire.postscale = options.predivide / size;
  }
  return wire;
}

}  // namespace

struct GradientSet::Followed {
  Gradient gradient;
  Accumulator accumulator;  // the parameter itself holds it weakly, and the hook with it
  std::uintptr_t hook = 0;
  std::size_t group = kAlone;
  bool followed = true;  // in the optimizer
  bool active = true;    // and requires a gradient
  int pieces = 1;        // same_graph: how many make its gradient, counted in the first pass; 0: that is still to come
};

GradientSet::GradientSet(const NamedTensors& names, comm::Group group, DistributedOptions options)
    : group_(std::move(group)),
      wire_(std::make_unique<Wire>(wire_of(options, group_.size()))),
      options_(std::move(options)),
      accumulate_(options_.accumulate) {
  std::set<std::string> seen;
  for (const auto& [name, parameter] : names) {
    if (!seen.insert(name).second) throw Error::bad_input("two parameters have the name '{}'", name);
    names_.emplace(parameter.unsafeGetTensorImpl(), name);
  }
}

GradientSet::~GradientSet() {
  for (const auto& one : all_) one->accumulator->del_post_hook(one->hook);
}

std::string GradientSet::name_of(const torch::Tensor& parameter) const {
  const auto found = names_.find(parameter.unsafeGetTensorImpl());
  return options_.prefix + (found != names_.end() ? found->second : fmt::format("parameter {}", all_.size()));
}

void GradientSet::add(const torch::Tensor& parameter) {
  const std::size_t index = all_.size();
  auto one = std::make_unique<Followed>(
      Followed{Gradient(name_of(parameter), parameter), torch::autograd::impl::grad_accumulator(parameter)});
  if (options_.same_graph) one->pieces = 0;
  one->hook = one->accumulator->add_post_hook(std::make_unique<Hook>([this, index] { telling([&] { made(index); }); }));
  index_.emplace(parameter.unsafeGetTensorImpl(), index);
  all_.push_back(std::move(one));
}

void GradientSet::follow(const std::vector<torch::Tensor>& parameters) {
  const Lock lock(mutex_);
  const std::size_t before = all_.size();
  for (const auto& one : all_) one->followed = one->active = false;
  for (const torch::Tensor& parameter : parameters) {
    auto known = index_.find(parameter.unsafeGetTensorImpl());
    if (known == index_.end() && !parameter.requires_grad()) continue;
    if (known == index_.end()) {
      add(parameter);
      known = index_.find(parameter.unsafeGetTensorImpl());
    }
    all_[known->second]->followed = true;
    all_[known->second]->active = parameter.requires_grad();
  }
  active_ = static_cast<std::size_t>(std::ranges::count_if(all_, [](const auto& one) { return one->active; }));
  if (all_.size() == before) return;
  groups_ = cut_into_groups();
  for (const auto& one : all_) one->group = kAlone;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const std::size_t index : groups_[g]) all_[index]->group = g;
}

std::vector<std::vector<std::size_t>> GradientSet::cut_into_groups() const {
  std::vector<std::vector<std::size_t>> groups;
  for (const auto& wanted : options_.groups) {
    groups.emplace_back();
    for (const torch::Tensor& parameter : wanted)
      if (const auto found = index_.find(parameter.unsafeGetTensorImpl()); found != index_.end())
        groups.back().push_back(found->second);
  }
  if (!options_.groups.empty() || options_.group_count <= 0) return groups;
  const std::size_t count = std::min(all_.size(), static_cast<std::size_t>(options_.group_count));
  groups.resize(count);
  for (std::size_t i = 0; i < all_.size(); ++i) groups[i * count / all_.size()].push_back(i);
  return groups;
}

void GradientSet::begin_round() {
  const Lock lock(mutex_);
  forget_round();
}

void GradientSet::forget_round() {
  for (const auto& one : all_) {
    one->gradient.passes = 0;
    one->gradient.complete = one->gradient.measured = false;
    one->gradient.forget();
  }
  squares_.clear();
  if (recorded_) recorded_->begin();
  complete_ = 0;
  any_ = reduced_ = false;
  presence_told_ = {};
}

bool GradientSet::any() const {
  const Lock lock(mutex_);
  return any_;
}

bool GradientSet::reduced() const {
  const Lock lock(mutex_);
  return reduced_;
}

std::string GradientSet::first_on_its_way() const {
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(all_, [](const auto& one) { return one->gradient.travels(); });
  return found == all_.end() ? "" : (*found)->gradient.name();
}

void GradientSet::made(std::size_t index) {
  if (options_.in_backward) begin_pass();
  const Lock lock(mutex_);
  Followed& one = *all_[index];
  Gradient& gradient = one.gradient;
  if (!one.followed || paused_) return;
  if (!one.active) {  // it has begun to require a gradient since anybody looked
    one.active = true;
    ++active_;
  }
  if (reduced_ && options_.many_rounds) forget_round();
  ++gradient.passes;
  if (reduced_ || gradient.complete) refuse_one_more(gradient);
  any_ = true;
  // A rank that is alone has no share to compare with the whole batch, but the first of several passes.
  if (measuring_ && gradient.passes == (alone() ? 1 : accumulate_)) take_norm(gradient);
  if (recorded_ && gradient.passes == accumulate_) recorded_->made(gradient.parameter());
  if (!goes_now(one)) {
    if (gradient.passes > accumulate_ && !options_.in_backward) refuse_one_more(gradient);
    return;
  }
  gradient.complete = true;
  ++complete_;
  if (!options_.overlap) return;
  hand_over(index);
  if (complete_ == active_) tell_presence();
}

// Whether this was the last piece of a gradient.
bool GradientSet::goes_now(const Followed& one) const {
  if (alone() || recorded_) return false;
  return one.gradient.passes == (options_.in_backward ? one.pieces : accumulate_);
}

void GradientSet::refuse_one_more(const Gradient& gradient) const {
  if (options_.in_backward)
    throw Error::bad_input(
        "the gradient of '{}' was computed in several pieces in one backward pass, but was sent after the first piece: "
        "set static_graph if the graph is the same in every pass",
        gradient.name());
  throw Error::bad_input(
      "the gradient of '{}' was computed {} since the last step(), but a step has {}: call step() after backward(), or "
      "set accumulate (backward_passes_per_step) to the number of backward passes per step",
      gradient.name(), reduced_ ? "after synchronize()" : fmt::format("{} times", gradient.passes),
      accumulate_ == 1 ? "one backward pass" : fmt::format("{} backward passes", accumulate_));
}

void GradientSet::begin_pass() {
  {
    const Lock lock(mutex_);
    if (paused_ || std::exchange(in_pass_, true)) return;
    forget_round();
  }
  torch::autograd::Engine::get_default_engine().queue_callback([this] { telling([&] { end_pass(); }); });
}

void GradientSet::end_pass() {
  try {
    reduce();
  } catch (...) {
    no_pass();
    throw;
  }
  const Lock lock(mutex_);
  if (options_.same_graph)
    for (const auto& one : all_) one->pieces = one->gradient.passes;
  in_pass_ = false;
}

void GradientSet::no_pass() {
  const Lock lock(mutex_);
  in_pass_ = false;
}

void GradientSet::telling(const std::function<void()>& work) const {
  try {
    work();
  } catch (const Error& error) {
    if (options_.on_error) options_.on_error(error);
    throw;
  }
}

void GradientSet::set_accumulate(int passes) {
  const Lock lock(mutex_);
  accumulate_ = passes;
}

void GradientSet::pause(bool on) {
  const Lock lock(mutex_);
  paused_ = on;
}

void GradientSet::set_factor(double factor) {
  const Lock lock(mutex_);
  factor_ = factor;
}

void GradientSet::take_norm(Gradient& gradient) {
  if (std::exchange(gradient.measured, true)) return;
  squares_.push_back(detail::squared_norm(gradient.parameter().grad()));
}

void GradientSet::measure(bool on) {
  const Lock lock(mutex_);
  measuring_ = on;
}

torch::Tensor GradientSet::local_squared_norm() const {
  const Lock lock(mutex_);
  return detail::sum_of(squares_);
}

// They are the same on all ranks, so each looks at a part.
torch::Tensor GradientSet::part_of_reduced_norm() const {
  const Lock lock(mutex_);
  std::vector<torch::Tensor> squares;
  for (const auto& one : all_)
    if (one->active && one->gradient.presence() != Presence::None)
      squares.push_back(detail::squared_norm(one->gradient.parameter().grad(), group_.rank(), group_.size()));
  return detail::sum_of(squares);
}

// Alone, or with its group when that is complete.
void GradientSet::hand_over(std::size_t index) {
  const std::size_t group = all_[index]->group;
  if (group == kAlone) return submit({index});
  const auto& members = groups_[group];
  const auto there = [this](std::size_t i) {
    mutex_.assert_held();
    return all_[i]->gradient.complete || !all_[i]->active;
  };
  if (!std::ranges::all_of(members, there)) return;
  std::vector<std::size_t> present;
  for (const std::size_t i : members)
    if (all_[i]->active) present.push_back(i);
  submit(present);
}

void GradientSet::submit(const std::vector<std::size_t>& indices) {
  std::vector<comm::Request> requests;
  std::vector<std::size_t> counts;
  for (const std::size_t index : indices) {
    auto wanted = all_[index]->gradient.requests(*wire_);
    counts.push_back(wanted.size());
    std::ranges::move(wanted, std::back_inserter(requests));
  }
  if (requests.size() == 1) {
    std::vector<comm::Handle> one{group_.submit(std::move(requests[0]))};
    return all_[indices[0]]->gradient.on_its_way(std::move(one));
  }
  const auto handles = group_.submit(std::move(requests));
  auto next = handles.begin();
  for (std::size_t i = 0; i < indices.size(); ++i, next += static_cast<std::ptrdiff_t>(counts[i - 1]))
    all_[indices[i]]->gradient.on_its_way({next, next + static_cast<std::ptrdiff_t>(counts[i])});
}

void GradientSet::tell_presence() {
  if (options_.always_all || presence_told_) return;
  presence_.assign(all_.size(), 0);
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i]->active) presence_[i] = vote(all_[i]->gradient.presence());
  presence_told_ =
      group_.submit({.name = options_.prefix + "gradients that are there", .input = comm::buffer_of(presence_)});
}

// What others have and this rank has not is made zero here.
void GradientSet::agree_on_presence() {
  if (options_.always_all) {
    for (const auto& one : all_)
      if (one->active && one->gradient.presence() == Presence::None) one->gradient.make_zero(one->gradient.usual());
    return;
  }
  tell_presence();
  presence_told_.wait();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Presence agreed = detail::agreed_from(presence_[i]);
    Gradient& gradient = all_[i]->gradient;
    if (agreed == gradient.presence() || !all_[i]->active) continue;
    if (gradient.presence() != Presence::None)
      throw Error::bad_input(
          "the gradient of '{}' is dense on this rank and sparse on another: set sparse_as_dense on all ranks",
          gradient.name());
    gradient.make_zero(agreed);
  }
}

NamedTensors GradientSet::active() const {
  NamedTensors parameters;
  for (const auto& one : all_)
    if (one->active) parameters.emplace_back(one->gradient.name(), one->gradient.parameter());
  return parameters;
}

std::string GradientSet::first_missing() const {
  for (const auto& one : all_)
    if (one->active && (one->gradient.passes != accumulate_ || one->gradient.presence() != Presence::Dense))
      return one->gradient.name();
  return {};
}

void GradientSet::reduce_by(ReduceBucket reduce) {
  const Lock lock(mutex_);
  recorded_ = nullptr;
  if (!reduce) return;
  if (any_ && !reduced_) throw Error::bad_input("gradients of a backward pass have not been used by step() yet");
  const bool plain = wire_->op != comm::ReduceOp::Adasum && wire_->compression == comm::Compression::None &&
                     !wire_->compress && wire_->prescale == 1.0 && factor_ == 1.0 && !options_.in_backward;
  if (!plain)
    throw Error::bad_input("gradients that are compressed or combined by Adasum can be reduced by the engine only");
  recorded_ = std::make_unique<RecordedRound>(active(), std::move(reduce));
}

std::vector<std::vector<torch::Tensor>> GradientSet::buckets() const {
  const Lock lock(mutex_);
  return RecordedRound(active(), nullptr).parameters();
}

std::string GradientSet::why_not_reduced_by() const {
  const Lock lock(mutex_);
  if (missing_.empty()) return {};
  return fmt::format("'{}' does not have a dense gradient in each backward pass", missing_);
}

void GradientSet::reduce() {
  const Lock lock(mutex_);
  if (recorded_) {
    recorded_->reduce();
  } else if (!alone()) {
    missing_ = first_missing();  // before others' gradients are made zero here
    agree_on_presence();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Followed& one = *all_[i];
      if (one.gradient.travels() || !one.active || one.gradient.presence() == Presence::None) continue;
      if (measuring_) take_norm(one.gradient);  // unless it has been, when the backward pass made it
      one.gradient.complete = true;
      hand_over(i);
    }
    for (const auto& one : all_) {
      if (!one->gradient.travels()) continue;
      one->gradient.finish(*wire_);
      if (factor_ != 1.0) one->gradient.parameter().grad().mul_(factor_);
    }
  }
  reduced_ = true;
}

}  // namespace ronde::parallel
