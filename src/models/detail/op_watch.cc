#include "ronde/models/detail/op_watch.h"

#include <memory>
#include <utility>

namespace ronde::models::detail {
namespace {

// torch calls plain functions, which find the watch of their thread here.
constinit thread_local OpWatch* current = nullptr;

// Inputs as they were before the operation.
struct Before final : at::ObserverContext {
  std::vector<torch::Tensor> inputs;
};

}  // namespace

void collect(const c10::IValue& value, std::vector<torch::Tensor>& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const torch::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
  }
}

std::string_view short_name(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  const auto colon = name.rfind(':');  // "aten::conv2d"
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

struct OpWatch::Hooks {
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (current->depth_++ > 0) return nullptr;
    auto before = std::make_unique<Before>();
    for (const c10::IValue& value : function.inputs()) collect(value, before->inputs);
    return before;
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (--current->depth_ > 0 || !context) return;
    std::vector<torch::Tensor> outputs;
    for (const c10::IValue& value : function.outputs()) collect(value, outputs);
    if (outputs.empty()) return;
    current->seen_({.name = short_name(function),
                    .inputs = std::move(static_cast<Before*>(context)->inputs),
                    .output = outputs.front()});
  }
};

OpWatch::OpWatch(std::function<void(const Operation&)> seen) : seen_(std::move(seen)) {
  current = this;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Hooks::begin, &Hooks::end)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

OpWatch::~OpWatch() {
  at::removeCallback(handle_);
  current = nullptr;
}

}  // namespace ronde::models::detail
