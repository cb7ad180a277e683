#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "ronde/base/error.h"
#include "ronde/comm/group.h"
#include "ronde/device/stream.h"

namespace ronde::parallel {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

struct DistributedOptions {
  comm::ReduceOp op = comm::ReduceOp::Average;  // Average, Sum or Adasum
  comm::Compression compression = comm::Compression::None;
  int accumulate = 1;      // backward passes a step; gradients add up, so divide each loss by it for a mean
  double predivide = 1.0;  // Average: gradients are divided by this before they are summed, by the rest after
  // Parameters whose gradients travel together, once all of them are there; the others travel as the engine sees fit.
  std::vector<std::vector<torch::Tensor>> groups = {};
  int group_count = 0;           // instead of `groups`: all parameters, in their order, cut into so many
  bool overlap = true;           // false: nothing travels before synchronize()
  bool sparse_as_dense = false;  // sparse gradients become dense ones first,
  bool sparse_again = false;     // and sparse again when they are reduced, for optimizers that take no others
  bool always_all = false;       // promise: every step has a gradient of every parameter, on every rank
  bool local = false;            // gradients stay where they are: for who averages weights instead (local SGD)
  std::string prefix = {};       // of the names of requests: tells two optimizers of one group apart
  // Instead of `compression`: what travels for a dense gradient (by its name), and what the reduced one becomes.
  using Change = std::function<torch::Tensor(const std::string& name, const torch::Tensor& tensor)>;
  Change compress = nullptr, decompress = nullptr;
  // For who must throw something else than an Error out of a backward pass. It may return: then the Error is thrown.
  std::function<void(const Error&)> on_error = nullptr;
  bool in_backward = false;  // every backward pass is a round of its own, and waits at its end: no step() is needed
  bool same_graph = false;   // in_backward: passes are alike; parameters may get their gradient in several pieces
  bool many_rounds = false;  // a backward pass after synchronize() begins a new round; otherwise it is an error
};

// Reduces the gradients of a bucket, which has this number, in place, over all ranks, after `made` has happened;
// returns what marks its end.
using ReduceBucket = std::function<device::Event(std::size_t number, const std::vector<torch::Tensor>& gradients,
                                                 const device::Event& made)>;

// Squared norms over all gradients of a step.
struct GradientNorms {
  double local = 0;    // of this rank's own ones, before they were reduced
  double reduced = 0;  // of the reduced ones: this rank's part of it; the parts of all ranks add up to the whole
};

// Makes an optimizer train one model on many ranks: gradients are reduced over the ranks of a group while the backward
// pass still computes others, and step() waits for the last.
//
//   torch::optim::SGD sgd(model->parameters(), 0.1);
//   DistributedOptimizer optimizer(sgd, named(*model), session.world());
//   broadcast_parameters(*model, session.world());
//   for (...) { optimizer.zero_grad(); loss(batch).backward(); optimizer.step(); }
//
// All ranks need the same parameters under the same names. A parameter that has no gradient on some ranks counts as
// zero there; one that has none on any is left alone by step(), as in a program of one rank. Parameters that the
// optimizer gets later, or that begin or cease to require a gradient, are noticed at the next zero_grad() or step().
//
// For one thread, besides the autograd engine's. The optimizer and the group's engine must outlive it.
class DistributedOptimizer {
 public:
  // Parameters of the optimizer that `names` lacks are called by their place: "parameter 3".
  // FAILS WITH: BadInput for two parameters of one name, or options that cannot be.
  DistributedOptimizer(torch::optim::Optimizer& optimizer, const NamedTensors& names, comm::Group group,
                       DistributedOptions options = {});
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  // Waits until all gradients are reduced; for whoever wants to see or clip them before step(). The second time it does
  // nothing. FAILS WITH: as Handle::wait(); BadInput when there was neither a backward pass nor a zero_grad() since the
  // last step().
  void synchronize();

  // synchronize(), then scales gradients down so that their norm over all parameters is at most `most`. Returns what
  // the norm was; infinite or not a number: nothing was scaled.
  double clip_grad_norm(double most);
  // The same without a wait for the device: the norm stays there, in f64, and kernels alone decide whether to scale.
  // (Sparse gradients do wait: their indices are brought together.)
  torch::Tensor clip_grad_norm_on_device(double most);

  // Whether norms are taken from the next backward pass on; that costs a look at every gradient.
  void measure_gradients(bool on);
  // synchronize(), then what was measured. In a group of one rank `local` is of the first backward pass of the step.
  // REQUIRES: measure_gradients(true) before the backward passes of this step.
  GradientNorms gradient_norms();
  // The same as f64 [2], where the gradients are: nobody waits for a GPU.
  torch::Tensor gradient_norm_values();

  // synchronize(), then the optimizer's step. With a closure (LBFGS): it zeroes gradients by this object's zero_grad()
  // and runs the backward pass; gradients are reduced after each call.
  // FAILS WITH: as synchronize().
  torch::Tensor step(const torch::optim::Optimizer::LossClosure& closure = nullptr);

  // From now on gradients are reduced by `reduce`, bucket by bucket in an order that is the same on all ranks; it is
  // called by the thread that calls synchronize(), and nobody votes: what a step needs that is recorded into a CUDA
  // graph. Every parameter must get a dense gradient in every pass. Nothing: as usual again.
  // FAILS WITH: BadInput between a backward pass and step(), or where gradients are to be changed on their way (Adasum,
  // compression).
  void reduce_by(ReduceBucket reduce);
  // Whether the last step was as reduce_by() needs it; empty, or one sentence that says why not.
  std::string why_not_reduced_by() const;
  // Its buckets, as the parameters whose gradients travel in them.
  std::vector<std::vector<torch::Tensor>> buckets() const;

  // FAILS WITH: BadInput while gradients of a backward pass are on their way: step() or synchronize() comes first.
  void zero_grad(bool set_to_none = true);

  // Seconds that synchronize() has waited so far: communication that no computation hid.
  double seconds_waited() const;

  torch::optim::Optimizer& optimizer() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// The parameters of a module under the names it gives them.
NamedTensors named(const torch::nn::Module& module);

}  // namespace ronde::parallel

namespace ronde {
using parallel::DistributedOptimizer;
using parallel::DistributedOptions;
}  // namespace ronde
