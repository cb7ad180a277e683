#include "ronde/models/recompute.h"

#include <mutex>
#include <utility>

#include <ATen/autocast_mode.h>

namespace ronde::models {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The state of one of torch's generators, in its own lock.
class Generator {
 public:
  explicit Generator(at::Device device) : generator_(at::globalContext().defaultGenerator(device)) {}
  Tensor state() {
    const std::lock_guard lock(generator_.mutex());
    return generator_.get_state();
  }
  void set(const Tensor& state) {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(state);
  }

 private:
  at::Generator generator_;
};

// Where random numbers stand: the host's, and the GPU's where the input lies on one.
struct RandomState {
  at::Device device = at::kCPU;
  Tensor host = {}, gpu = {};

  static RandomState now(at::Device device) {
    RandomState state{.device = device, .host = Generator(at::kCPU).state()};
    if (!device.is_cpu()) state.gpu = Generator(device).state();
    return state;
  }
  void restore() const {
    Generator(at::kCPU).set(host);
    if (gpu.defined()) Generator(device).set(gpu);
  }
};

// The arithmetic that torch chooses for this thread.
struct Autocast {
  at::DeviceType device = at::kCPU;
  bool on = false, caches = true;
  at::ScalarType type = at::kFloat;

  static Autocast now(at::DeviceType device) {
    return {.device = device,
            .on = at::autocast::is_autocast_enabled(device),
            .caches = at::autocast::is_autocast_cache_enabled(),
            .type = at::autocast::get_autocast_dtype(device)};
  }
  void restore() const {
    at::autocast::set_autocast_enabled(device, on);
    at::autocast::set_autocast_dtype(device, type);
    at::autocast::set_autocast_cache_enabled(caches);
  }
};

// Another autocast, for a while.
class WithAutocast {
 public:
  explicit WithAutocast(const Autocast& wanted) : before_(Autocast::now(wanted.device)) { wanted.restore(); }
  ~WithAutocast() { before_.restore(); }
  WithAutocast(const WithAutocast&) = delete;
  WithAutocast& operator=(const WithAutocast&) = delete;

 private:
  const Autocast before_;
};

// Autocast keeps weights that it has cast once. Those of a pass without gradients would be found again by a pass that
// needs them, and the weights would get none: neither pass keeps any.
Autocast without_cache(Autocast autocast) {
  autocast.caches = false;
  return autocast;
}

// What the second pass does to buffers, or to the order of random numbers, is undone when this goes.
class Undo {
 public:
  Undo(std::vector<Tensor> buffers, at::Device device)
      : buffers_(std::move(buffers)), random_(RandomState::now(device)) {
    const torch::NoGradGuard no_grad;
    for (const Tensor& buffer : buffers_) before_.push_back(buffer.clone());
  }
  // By variable_data(), which has a version of its own: for autograd the buffers have not changed.
  ~Undo() {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].variable_data().copy_(before_[i]);
    random_.restore();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

 private:
  std::vector<Tensor> buffers_, before_;
  const RandomState random_;
};

// What the backward pass needs besides the input. Contexts hold torch's own types only.
struct Held : torch::CustomClassHolder {
  Held(Part its_part, std::vector<Tensor> its_buffers, const Tensor& input)
      : part(std::move(its_part)),
        buffers(std::move(its_buffers)),
        random(RandomState::now(input.device())),
        autocast(without_cache(Autocast::now(input.device().type()))) {}

  Part part;
  std::vector<Tensor> buffers;
  RandomState random;
  Autocast autocast;
};

class Recompute : public torch::autograd::Function<Recompute> {
 public:
  // `reason` requires a gradient even where the input does not: parameters do, and autograd cannot see them here.
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& /*reason*/,
                        const c10::intrusive_ptr<Held>& held) {
    context->save_for_backward({input});
    context->saved_data["held"] = c10::IValue::make_capsule(held);
    const WithAutocast as_outside(held->autocast);
    return held->part(input);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor saved = context->get_saved_variables()[0];
    const auto capsule = context->saved_data["held"].toCapsule();
    const auto& held = static_cast<const Held&>(*capsule);
    Tensor input = saved.detach();
    input.set_requires_grad(saved.requires_grad());
    const Undo undo(held.buffers, saved.device());
    const torch::AutoGradMode with_gradients(true);
    Tensor output;
    {
      held.random.restore();
      const WithAutocast as_before(held.autocast);
      output = held.part(input);
    }
    if (output.requires_grad()) torch::autograd::backward({output}, {gradients[0]});
    return {input.grad(), Tensor(), Tensor()};
  }
};

}  // namespace

torch::Tensor recompute(const Part& part, const std::vector<torch::Tensor>& buffers, const torch::Tensor& input) {
  if (!torch::GradMode::is_enabled()) return part(input);
  const Tensor reason = torch::empty({0}, input.options().dtype(torch::kFloat)).requires_grad_();
  return Recompute::apply(input, reason, c10::make_intrusive<Held>(part, buffers, input));
}

torch::Tensor run_part(Network& part, const torch::Tensor& input, bool again) {
  if (!again) return part.forward(input);
  return recompute([&part](const Tensor& x) { return part.forward(x); }, part.buffers(), input);
}

}  // namespace ronde::models
