#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/torch.h>

#include "ronde/base/system/mutex.h"
#include "ronde/comm/group.h"
#include "ronde/parallel/distributed_optimizer.h"

namespace ronde::parallel {

namespace detail {
class Gradient;
class RecordedRound;
struct Wire;
}  // namespace detail

// The gradients of all parameters of an optimizer. Hooks tell it when one is there; it then travels at once, or
// together with others of its group. A round is what happens between two steps: backward passes, and the reduction of
// what they made.
//
// So that ranks agree on which parameters have a gradient at all, a number for each of them is summed in every round,
// as soon as all are there, or at the end.
//
// For who brings an optimizer of torch's, DistributedOptimizer is the door; this is for whoever brings another one.
// Safe to call from several threads.
class GradientSet {
 public:
  // FAILS WITH: BadInput for two parameters of one name, or options that cannot be.
  GradientSet(const NamedTensors& names, comm::Group group, DistributedOptions options);
  ~GradientSet();

  // Which parameters there are from now on. FAILS WITH: BadInput for two of one name.
  void follow(const std::vector<torch::Tensor>& parameters);
  void begin_round();

  bool any() const;                      // has a backward pass made something in this round?
  bool reduced() const;                  // is this round's reduction done?
  std::string first_on_its_way() const;  // the name of a gradient; empty: none

  // Hands over what has not been yet, and waits for everything. FAILS WITH: as Handle::wait().
  void reduce();

  // Backward passes a round, from the next round on.
  void set_accumulate(int passes);
  // While it pauses, gradients add up and stay here.
  void pause(bool on);
  // in_backward: this pass is one to be reduced. Called from inside it, at its root; the first gradient does it too.
  void begin_pass();
  void no_pass();  // none is on its way, since it failed before its end
  // Reduced gradients are multiplied by it: for averages over fewer ranks than there are.
  void set_factor(double factor);

  // As DistributedOptimizer's.
  void reduce_by(ReduceBucket reduce);
  std::string why_not_reduced_by() const;
  std::vector<std::vector<torch::Tensor>> buckets() const;

  // Whether norms of gradients are taken before they travel.
  void measure(bool on);
  // The squared norm of this rank's gradients of this round, before they travelled; where they are.
  torch::Tensor local_squared_norm() const;
  // This rank's part of the squared norm of the reduced ones.
  torch::Tensor part_of_reduced_norm() const;

 private:
  struct Followed;

  bool alone() const { return group_.size() == 1 || options_.local; }
  void add(const torch::Tensor& parameter) RONDE_REQUIRES(mutex_);
  void forget_round() RONDE_REQUIRES(mutex_);
  void refuse_one_more(const detail::Gradient& gradient) const RONDE_REQUIRES(mutex_);
  bool goes_now(const Followed& one) const RONDE_REQUIRES(mutex_);
  void end_pass();
  void telling(const std::function<void()>& work) const;  // errors to options_.on_error, inside a backward pass
  void made(std::size_t index);                           // on the thread of the backward pass
  void take_norm(detail::Gradient& gradient) RONDE_REQUIRES(mutex_);
  void hand_over(std::size_t index) RONDE_REQUIRES(mutex_);
  void submit(const std::vector<std::size_t>& indices) RONDE_REQUIRES(mutex_);
  NamedTensors active() const RONDE_REQUIRES(mutex_);
  std::string first_missing() const RONDE_REQUIRES(mutex_);
  void tell_presence() RONDE_REQUIRES(mutex_);
  void agree_on_presence() RONDE_REQUIRES(mutex_);
  std::vector<std::vector<std::size_t>> cut_into_groups() const RONDE_REQUIRES(mutex_);
  std::string name_of(const torch::Tensor& parameter) const RONDE_REQUIRES(mutex_);

  std::unordered_map<const void*, std::string> names_;
  const comm::Group group_;
  const std::unique_ptr<const detail::Wire> wire_;
  const DistributedOptions options_;

  mutable Mutex mutex_;                      // backward passes on GPUs have threads of their own
  int accumulate_ RONDE_GUARDED_BY(mutex_);  // backward passes per round
  std::vector<std::unique_ptr<Followed>> all_ RONDE_GUARDED_BY(mutex_);
  std::unordered_map<const void*, std::size_t> index_ RONDE_GUARDED_BY(mutex_);  // by parameter
  std::vector<std::vector<std::size_t>> groups_ RONDE_GUARDED_BY(mutex_);        // of parameters that travel together
  std::size_t active_ RONDE_GUARDED_BY(mutex_) = 0;                              // parameters that may get a gradient,
  std::size_t complete_ RONDE_GUARDED_BY(mutex_) = 0;                            // and those that have theirs
  std::vector<std::int64_t> presence_ RONDE_GUARDED_BY(mutex_);
  comm::Handle presence_told_ RONDE_GUARDED_BY(mutex_);
  bool any_ RONDE_GUARDED_BY(mutex_) = false;
  bool reduced_ RONDE_GUARDED_BY(mutex_) = false;
  // A parameter to which not each pass of the last round gave a gradient; empty: none.
  std::string missing_ RONDE_GUARDED_BY(mutex_);
  bool paused_ RONDE_GUARDED_BY(mutex_) = false;
  bool in_pass_ RONDE_GUARDED_BY(mutex_) = false;
  double factor_ RONDE_GUARDED_BY(mutex_) = 1.0;
  bool measuring_ RONDE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<detail::RecordedRound> recorded_ RONDE_GUARDED_BY(mutex_);  // where somebody else reduces
  std::vector<torch::Tensor> squares_ RONDE_GUARDED_BY(mutex_);               // of the norms that have been taken
};

}  // namespace ronde::parallel
