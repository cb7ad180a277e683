#pragma once

#include <memory>
#include <optional>

#include <torch/extension.h>

#include "ronde/parallel/gradient_scope.h"
#include "ronde/parallel/gradient_set.h"
#include "state.h"

namespace ronde::python {

// The gradients of a model or an optimizer, as Python holds them: the set that reduces them, and memory that the ranks
// of a node share. When the session ends, hooks and memory go; whoever holds this makes another one with the next.
class Gradients : public SessionUser {
 public:
  Gradients(const parallel::NamedTensors& names, int group, parallel::DistributedOptions options);
  ~Gradients() override;

  bool running() const { return set_ != nullptr; }
  std::shared_ptr<parallel::GradientSet> set() const;  // FAILS WITH: BadInput when the session has ended

  void enter();  // for the thread that calls
  void leave();
  // After a collective has failed other ranks may still write there.
  void failed() {
    if (memory_) memory_->retire();
  }

  // The backward pass of these, a model's outputs, is one to be reduced; it says so when it begins.
  void pass_begins_at(const torch::autograd::variable_list& tensors);

  void session_ends() override;

 private:
  // Where a thread is. It keeps the memory, since a session may be ended by another thread.
  struct Place {
    std::shared_ptr<parallel::GradientMemory> memory;
    std::optional<parallel::GradientScope> scope;
  };
  static Place& place();

  std::shared_ptr<parallel::GradientSet> set_;
  std::shared_ptr<parallel::GradientMemory> memory_;
};

}  // namespace ronde::python
