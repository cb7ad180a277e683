#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/parallel/detail/presence.h"
#include "ronde/parallel/distributed_optimizer.h"

namespace ronde::parallel::detail {

// How gradients travel.
struct Wire {
  comm::ReduceOp op = comm::ReduceOp::Sum;
  double prescale = 1.0, postscale = 1.0;
  comm::Compression compression = comm::Compression::None;
  bool sparse_as_dense = false, sparse_again = false;
  double sparse_scale = 1.0;  // sums of sparse gradients are multiplied by it
  DistributedOptions::Change compress = nullptr, decompress = nullptr;
};

// The gradient of one parameter, from the backward pass that made it to the reduced one in its place.
class Gradient {
 public:
  Gradient(std::string name, torch::Tensor parameter) : name_(std::move(name)), parameter_(std::move(parameter)) {}

  const std::string& name() const { return name_; }
  const torch::Tensor& parameter() const { return parameter_; }

  Presence presence() const;
  Presence usual() const { return was_sparse_ ? Presence::Sparse : Presence::Dense; }  // what it was before
  // One where there is none, so that this rank can take part.
  void make_zero(Presence kind);

  // What is to be submitted for it; the memory is kept by the requests. FAILS WITH: BadInput.
  std::vector<comm::Request> requests(const Wire& wire);
  void on_its_way(std::vector<comm::Handle> handles) { handles_ = std::move(handles); }
  bool travels() const { return !handles_.empty(); }

  // Waits, and puts the result into the parameter's gradient. FAILS WITH: as Handle::wait().
  void finish(const Wire& wire);
  void forget() { handles_.clear(); }  // what is on its way; nobody will look at it

  int passes = 0;         // backward passes since the last step
  bool complete = false;  // has been handed over, or waits for others of its group
  bool measured = false;  // its norm has been taken

 private:
  void finish_sparse(const Wire& wire);

  std::string name_;
  torch::Tensor parameter_;
  bool was_sparse_ = false;
  bool sparse_again_ = false;  // travels as a dense one
  torch::Tensor travelling_;   // dense: the gradient itself, or a copy that can travel
  std::vector<comm::Handle> handles_;
};

}  // namespace ronde::parallel::detail
