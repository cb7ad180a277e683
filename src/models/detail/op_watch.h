#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <ATen/record_function.h>
#include <torch/torch.h>

namespace ronde::models::detail {

struct Operation {
  std::string_view name;              // "conv2d"
  std::vector<torch::Tensor> inputs;  // in the order of its arguments, those in lists included
  torch::Tensor output;               // the first, if it has several
};

// The tensors of an argument or result of an operation, those in a list included.
void collect(const c10::IValue& value, std::vector<torch::Tensor>& tensors);
// "conv2d" of "aten::conv2d".
std::string_view short_name(const at::RecordFunction& function);

// While it lives, `seen` is called for each of torch's operations that this thread calls itself: not for those that
// they are made of. This way a network's forward() is the only place that says what it does. REQUIRES: lives on the
// stack of one thread; `seen` calls no operation of torch. One at a time on a thread.
class OpWatch {
 public:
  explicit OpWatch(std::function<void(const Operation&)> seen);
  ~OpWatch();
  OpWatch(const OpWatch&) = delete;
  OpWatch& operator=(const OpWatch&) = delete;

 private:
  struct Hooks;

  std::function<void(const Operation&)> seen_;
  int depth_ = 0;
  at::CallbackHandle handle_;
};

}  // namespace ronde::models::detail
