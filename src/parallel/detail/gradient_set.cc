#include "ronde/parallel/detail/gradient_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/gradient_norm.h"

namespace ronde::parallel::detail {
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

}  // namespace

struct GradientSet::Followed {
  Gradient gradient;
  Accumulator accumulator;  // the parameter itself holds it weakly, and the hook with it
  std::uintptr_t hook = 0;
  std::size_t group = kAlone;
  bool active = true;  // in the optimizer, and requires a gradient
};

GradientSet::GradientSet(const NamedTensors& names, comm::Group group, Wire wire, DistributedOptions options)
    : group_(std::move(group)), wire_(wire), options_(std::move(options)) {
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
  one->hook = one->accumulator->add_post_hook(std::make_unique<Hook>([this, index] { made(index); }));
  index_.emplace(parameter.unsafeGetTensorImpl(), index);
  all_.push_back(std::move(one));
}

void GradientSet::follow(const std::vector<torch::Tensor>& parameters) {
  std::lock_guard lock(mutex_);
  const std::size_t before = all_.size();
  std::vector<bool> active(all_.size(), false);
  for (const torch::Tensor& parameter : parameters) {
    const auto known = index_.find(parameter.unsafeGetTensorImpl());
    if (known != index_.end()) {
      active[known->second] = parameter.requires_grad();
    } else if (parameter.requires_grad()) {
      add(parameter);
      active.push_back(true);
    }
  }
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->active = active[i];
  active_ = static_cast<std::size_t>(std::ranges::count(active, true));
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
  std::lock_guard lock(mutex_);
  for (const auto& one : all_) {
    one->gradient.passes = 0;
    one->gradient.complete = one->gradient.measured = false;
    one->gradient.forget();
  }
  squares_.clear();
  complete_ = 0;
  any_ = reduced_ = false;
  presence_told_ = {};
}

bool GradientSet::any() const {
  std::lock_guard lock(mutex_);
  return any_;
}

bool GradientSet::reduced() const {
  std::lock_guard lock(mutex_);
  return reduced_;
}

std::string GradientSet::first_on_its_way() const {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(all_, [](const auto& one) { return one->gradient.travels(); });
  return found == all_.end() ? "" : (*found)->gradient.name();
}

void GradientSet::made(std::size_t index) {
  std::lock_guard lock(mutex_);
  Gradient& gradient = all_[index]->gradient;
  if (!all_[index]->active) return;
  if (reduced_ || ++gradient.passes > options_.accumulate)
    throw Error::bad_input(
        "the gradient of '{}' was computed {} since the last step(), and a step has {}: call step() after backward(), "
        "or "
        "set accumulate to the number of backward passes a step",
        gradient.name(), reduced_ ? "after synchronize()" : fmt::format("{} times", gradient.passes),
        options_.accumulate == 1 ? "one backward pass" : fmt::format("{} backward passes", options_.accumulate));
  any_ = true;
  // A rank that is alone has no share to compare with the whole batch, but the first of several passes.
  if (measuring_ && gradient.passes == (alone() ? 1 : options_.accumulate)) take_norm(gradient);
  if (gradient.passes < options_.accumulate || alone()) return;
  gradient.complete = true;
  ++complete_;
  if (!options_.overlap) return;
  hand_over(index);
  if (complete_ == active_) tell_presence();
}

void GradientSet::take_norm(Gradient& gradient) {
  if (std::exchange(gradient.measured, true)) return;
  squares_.push_back(squared_norm(gradient.parameter().grad()));
}

void GradientSet::measure(bool on) {
  std::lock_guard lock(mutex_);
  measuring_ = on;
}

double GradientSet::local_squared_norm() const {
  std::lock_guard lock(mutex_);
  return sum_of(squares_);
}

// They are the same on all ranks, so each looks at a part.
double GradientSet::part_of_reduced_norm() const {
  std::lock_guard lock(mutex_);
  std::vector<torch::Tensor> squares;
  for (const auto& one : all_)
    if (one->active && one->gradient.presence() != Presence::None)
      squares.push_back(squared_norm(one->gradient.parameter().grad(), group_.rank(), group_.size()));
  return sum_of(squares);
}

// Alone, or with its group when that is complete.
void GradientSet::hand_over(std::size_t index) {
  const std::size_t group = all_[index]->group;
  if (group == kAlone) return submit({index});
  const auto& members = groups_[group];
  const auto there = [this](std::size_t i) { return all_[i]->gradient.complete || !all_[i]->active; };
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
    auto wanted = all_[index]->gradient.requests(wire_);
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
    if (all_[i]->active) presence_[i] = static_cast<std::uint8_t>(all_[i]->gradient.presence());
  presence_told_ = group_.submit({.name = options_.prefix + "gradients that are there",
                                  .input = comm::buffer_of(presence_),
                                  .op = comm::ReduceOp::Max});
}

// What others have and this rank has not is made zero here.
void GradientSet::agree_on_presence() {
  if (options_.always_all) {
    for (const auto& one : all_)
      if (one->active && one->gradient.presence() == Presence::None) one->gradient.make_zero(Presence::Dense);
    return;
  }
  tell_presence();
  presence_told_.wait();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto agreed = static_cast<Presence>(presence_[i]);
    Gradient& gradient = all_[i]->gradient;
    if (agreed == gradient.presence() || !all_[i]->active) continue;
    if (gradient.presence() != Presence::None)
      throw Error::bad_input(
          "the gradient of '{}' is dense on this rank and sparse on another: ask for sparse_as_dense, on all ranks",
          gradient.name());
    gradient.make_zero(agreed);
  }
}

void GradientSet::reduce() {
  std::lock_guard lock(mutex_);
  if (!alone()) {
    agree_on_presence();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Followed& one = *all_[i];
      if (one.gradient.travels() || !one.active || one.gradient.presence() == Presence::None) continue;
      if (measuring_) take_norm(one.gradient);  // unless it has been, when the backward pass made it
      one.gradient.complete = true;
      hand_over(i);
    }
    for (const auto& one : all_)
      if (one->gradient.travels()) one->gradient.finish(wire_);
  }
  reduced_ = true;
}

}  // namespace ronde::parallel::detail
