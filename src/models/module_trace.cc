#include "ronde/models/module_trace.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include "ronde/models/detail/layer_names.h"
#include "ronde/models/detail/op_watch.h"
#include "ronde/trace/fact_names.h"
#include "ronde/trace/span.h"

namespace ronde::models {
namespace {

using Chain = std::vector<trace::Name>;  // "layer1", "layer1.0", "layer1.0.conv1"

// An operation that has begun.
struct Running final : at::ObserverContext {
  std::optional<trace::Span> span;
  const Chain* layer = nullptr;    // that its backward operations belong to,
  std::uint64_t first_number = 0;  // and the number that torch gives the first of these
};

}  // namespace

struct ModuleTrace::Impl {
  Impl(const Network& network, trace::Recorder& given, ModuleTraceOptions wanted)
      : names(network), recorder(given), options(wanted) {}

  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function);
  void begin_backward(const at::RecordFunction& function);
  void end(Running& running);
  void go_to(const Chain& layer);
  void leave(std::size_t depth);
  const Chain& chain_of(const std::string& layer);
  trace::Name operator_name(std::string_view name);

  detail::LayerNames names;
  trace::Recorder& recorder;
  const ModuleTraceOptions options;
  at::CallbackHandle handle = 0;
  std::optional<Direction> pass;
  int depth = 0;  // of operations inside one another

  Chain open;                     // modules at work, from the outermost on,
  std::deque<trace::Span> spans;  // and their spans
  std::size_t expected = 0;       // spans that were open on this thread when these last changed

  std::unordered_map<std::string, Chain> chains;             // by layer; nodes stay where they are
  std::unordered_map<std::string, trace::Name> operators;    // by name
  std::unordered_map<std::uint64_t, const Chain*> layer_of;  // by the number of a backward operation
};

namespace {

// A backward function, and what autograd puts around it: what lies inside is what counts.
bool holds_others(const at::RecordFunction& function) {
  return function.scope() == at::RecordScope::BACKWARD_FUNCTION ||
         std::string_view(function.name()).starts_with("autograd::engine::");
}

// torch calls plain functions, which find the trace of their thread here.
template <class Impl>
struct Hooks {
  static constinit inline thread_local Impl* current = nullptr;

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (!current) return nullptr;
    if (!holds_others(function)) return current->begin(function);
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) current->begin_backward(function);
    return nullptr;
  }
  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (!current || holds_others(function)) return;
    --current->depth;
    if (context) current->end(static_cast<Running&>(*context));
  }
};

}  // namespace

// Inside of a backward pass, what may have gradients of its own belongs to a forward pass that is done again.
std::unique_ptr<at::ObserverContext> ModuleTrace::Impl::begin(const at::RecordFunction& function) {
  if (depth++ > 0 || !recorder.recording()) return nullptr;
  const bool forward = pass && (*pass == Direction::Forward || at::GradMode::is_enabled());
  auto running = std::make_unique<Running>();
  const std::string_view name = detail::short_name(function);
  if (options.modules && forward) {
    std::vector<torch::Tensor> inputs;
    for (const c10::IValue& value : function.inputs()) detail::collect(value, inputs);
    running->layer = &chain_of(names.next(name, inputs).name);
    running->first_number = at::sequence_number::peek();
    go_to(*running->layer);
  }
  if (options.operators) running->span.emplace(operator_name(name), trace::Name(trace::category_names::kOperator));
  return running;
}

void ModuleTrace::Impl::end(Running& running) {
  running.span.reset();
  if (!running.layer) return;
  for (std::uint64_t number = running.first_number; number < at::sequence_number::peek(); ++number)
    layer_of[number] = running.layer;
}

// One that belongs to no operation adds up gradients: it goes with what came before.
void ModuleTrace::Impl::begin_backward(const at::RecordFunction& function) {
  if (!options.modules || !pass || depth > 0 || !recorder.recording()) return;
  if (function.forwardThreadId() != at::RecordFunction::currentThreadId()) return;
  const auto found = layer_of.find(static_cast<std::uint64_t>(function.seqNr()));
  if (found != layer_of.end()) go_to(*found->second);
}

// A span that somebody else has begun since, and not ended, lies inside of ours: they have to wait for it.
void ModuleTrace::Impl::go_to(const Chain& layer) {
  if (trace::open_spans() != expected) return;
  std::size_t common = 0;
  while (common < open.size() && common < layer.size() && open[common].text() == layer[common].text()) ++common;
  leave(common);
  for (std::size_t i = common; i < layer.size(); ++i) {
    spans.emplace_back(layer[i], trace::Name(trace::category_names::kModule));
    open.push_back(layer[i]);
  }
  expected = trace::open_spans();
}

void ModuleTrace::Impl::leave(std::size_t depth_left) {
  while (open.size() > depth_left) {
    spans.pop_back();
    open.pop_back();
  }
}

const Chain& ModuleTrace::Impl::chain_of(const std::string& layer) {
  const auto [found, is_new] = chains.try_emplace(layer);
  if (!is_new) return found->second;
  for (auto dot = layer.find('.'); dot != std::string::npos; dot = layer.find('.', dot + 1))
    found->second.push_back(recorder.intern(layer.substr(0, dot)));
  found->second.push_back(recorder.intern(layer));
  return found->second;
}

trace::Name ModuleTrace::Impl::operator_name(std::string_view name) {
  const auto [found, is_new] = operators.try_emplace(std::string(name));
  if (is_new) found->second = recorder.intern(name);
  return found->second;
}

ModuleTrace::ModuleTrace(const Network& network, trace::Recorder& recorder, ModuleTraceOptions options)
    : impl_(std::make_unique<Impl>(network, recorder, options)) {
  using Hook = Hooks<Impl>;
  Hook::current = impl_.get();
  impl_->handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(&Hook::begin, &Hook::end)
                                     .needsInputs(options.modules)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

ModuleTrace::~ModuleTrace() {
  at::removeCallback(impl_->handle);
  Hooks<Impl>::current = nullptr;
}

ModuleTrace::Pass::Pass(ModuleTrace* modules, Direction direction) : modules_(modules) {
  if (!modules) return;
  Impl& impl = *modules->impl_;
  if (direction == Direction::Forward) impl.layer_of.clear();
  impl.pass = direction;
  impl.expected = trace::open_spans();
}

ModuleTrace::Pass::~Pass() {
  if (!modules_) return;
  modules_->impl_->leave(0);
  modules_->impl_->pass.reset();
}

}  // namespace ronde::models
