// The gradient path of DistributedOptimizer and DistributedDataParallel: hooks, reduction and waiting are C++; Python
// is asked only where the program brings a compressor of its own.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "gradients.h"

#include "errors.h"
#include "parts.h"
#include "ronde/parallel/tensor_buffer.h"
#include "state.h"
#include "submit.h"
#include "unlocked.h"

namespace ronde::python {
namespace {

using torch::autograd::variable_list;

// Out of a backward pass, an error goes as the Python exception that Horovod's users know.
[[noreturn]] void throw_in_python(const Error& error) {
  py::gil_scoped_acquire lock;
  if (error.kind() == Error::Kind::BadInput)
    PyErr_SetString(PyExc_AssertionError, error.what());
  else
    set_internal_error(error);
  python_error in_python;
  in_python.persist();
  throw in_python;
}

// A compressor's functions are Python's: the lock is taken around them. What compress() wants remembered is kept by the
// name of the gradient.
struct Compressor {
  py::object compress, decompress;
  py::dict remembered = {};

  torch::Tensor before(const std::string& name, const torch::Tensor& tensor) {
    py::gil_scoped_acquire lock;
    const py::tuple result = compress(tensor);
    remembered[py::str(name)] = result[1];
    return result[0].cast<torch::Tensor>();
  }
  torch::Tensor after(const std::string& name, const torch::Tensor& tensor) {
    py::gil_scoped_acquire lock;
    return decompress(tensor, remembered[py::str(name)]).cast<torch::Tensor>();
  }
};

// In the backward pass of a model's output it is the first to run, and says that the pass has begun.
class PassBegins : public torch::autograd::FunctionPreHook {
 public:
  explicit PassBegins(std::weak_ptr<parallel::GradientSet> set) : set_(std::move(set)) {}
  variable_list operator()(const variable_list& gradients) override {
    if (const auto set = set_.lock()) set->begin_pass();
    return gradients;
  }

 private:
  std::weak_ptr<parallel::GradientSet> set_;
};

}  // namespace

Gradients::Gradients(const parallel::NamedTensors& names, int group, parallel::DistributedOptions options) {
  State& state = State::of_process();
  options.on_error = [this](const Error& error) {
    if (error.kind() != Error::Kind::BadInput) failed();
    throw_in_python(error);
  };
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, parameter] : names) parameters.push_back(parameter);
  set_ = std::make_shared<parallel::GradientSet>(names, state.group(group), std::move(options));
  set_->follow(parameters);
  if (state.session().settings().get<"memory.arena">()) {
    try {
      memory_ = std::make_shared<parallel::GradientMemory>(
          state.session().engine(), parallel::GradientMemoryOptions{.sizes = parallel::sizes_of(parameters)});
    } catch (const Error&) {
      // Others have taken what can be shared: these gradients are copied, and right all the same.
    }
  }
  state.add_user(this);
}

Gradients::~Gradients() {
  State::of_process().remove_user(this);
  leave();
}

void Gradients::session_ends() {
  leave();
  if (memory_ && memory_.use_count() > 1) memory_->retire();  // another thread is still inside
  memory_.reset();
  set_.reset();
}

std::shared_ptr<parallel::GradientSet> Gradients::set() const {
  if (!set_) throw Error::bad_input("the session that these gradients belong to has ended");
  return set_;
}

// What this thread makes from now on may be a gradient: those come from memory that ranks share.
void Gradients::enter() {
  if (!memory_) return;
  Place& here = place();
  here.scope.reset();
  here.memory = memory_;
  here.scope.emplace(*memory_);
}

void Gradients::leave() {
  Place& here = place();
  if (!memory_ || here.memory != memory_) return;
  here.scope.reset();
  here.memory.reset();
}

Gradients::Place& Gradients::place() {
  thread_local Place of_thread;
  return of_thread;
}

void Gradients::pass_begins_at(const variable_list& tensors) {
  for (const torch::Tensor& tensor : tensors)
    if (const auto& made_by = tensor.grad_fn()) made_by->add_pre_hook(std::make_unique<PassBegins>(set_));
}

namespace {

comm::Compression compression_named(const std::string& name) {
  if (name == "fp16") return comm::Compression::F16;
  return name == "bf16" ? comm::Compression::BF16 : comm::Compression::None;
}

std::unique_ptr<Gradients> make(const parallel::NamedTensors& names, int group, int op, const py::dict& more) {
  parallel::DistributedOptions options{.op = reduce_op(op)};
  const auto take = [&](const char* key, auto& into) {
    if (more.contains(key)) into = more[key].cast<std::decay_t<decltype(into)>>();
  };
  take("accumulate", options.accumulate);
  take("predivide", options.predivide);
  take("groups", options.groups);
  take("group_count", options.group_count);
  take("sparse_as_dense", options.sparse_as_dense);
  take("sparse_again", options.sparse_again);
  take("always_all", options.always_all);
  take("in_backward", options.in_backward);
  take("same_graph", options.same_graph);
  take("many_rounds", options.many_rounds);
  take("prefix", options.prefix);
  if (more.contains("compression")) options.compression = compression_named(more["compression"].cast<std::string>());
  if (more.contains("compressor")) {
    const py::object by = more["compressor"];
    // Let go of with Python's lock, whoever is the last.
    std::shared_ptr<Compressor> own(new Compressor{by.attr("compress"), by.attr("decompress")}, [](Compressor* gone) {
      py::gil_scoped_acquire lock;
      delete gone;
    });
    options.compress = [own](const std::string& name, const auto& tensor) { return own->before(name, tensor); };
    options.decompress = [own](const std::string& name, const auto& tensor) { return own->after(name, tensor); };
  }
  return std::make_unique<Gradients>(names, group, std::move(options));
}

// Calls it without Python's lock. The session may end meanwhile: whoever is inside keeps what it works on.
template <class Work>
auto unlocked(const Gradients& self, Work work) {
  const auto set = self.set();
  const Unlocked without;
  return work(*set);
}

void reduce(Gradients& self) {
  try {
    unlocked(self, [](auto& set) { set.reduce(); });
  } catch (const Error& error) {
    self.failed();
    if (error.kind() != Error::Kind::BadInput) throw;
    throw Error(Error::Kind::Mismatch, error.message());  // of a collective, not of an argument
  }
}

}  // namespace

void add_gradients(py::module_& module) {
  using Tensors = std::vector<torch::Tensor>;
  py::class_<Gradients>(module, "Gradients")
      .def(py::init(&make))
      .def("running", &Gradients::running)
      .def("follow", [](Gradients& self, const Tensors& all) { unlocked(self, [&](auto& set) { set.follow(all); }); })
      .def("reduce", &reduce)
      .def("begin_round", [](Gradients& self) { unlocked(self, [](auto& set) { set.begin_round(); }); })
      .def("reduced", [](Gradients& self) { return unlocked(self, [](auto& set) { return set.reduced(); }); })
      .def("on_its_way",
           [](Gradients& self) { return unlocked(self, [](auto& set) { return set.first_on_its_way(); }); })
      .def("set_accumulate",
           [](Gradients& self, int passes) { unlocked(self, [&](auto& set) { set.set_accumulate(passes); }); })
      .def("set_factor",
           [](Gradients& self, double factor) { unlocked(self, [&](auto& set) { set.set_factor(factor); }); })
      .def("pause", [](Gradients& self, bool on) { unlocked(self, [&](auto& set) { set.pause(on); }); })
      .def("no_pass", [](Gradients& self) { unlocked(self, [](auto& set) { set.no_pass(); }); })
      .def("enter", &Gradients::enter)
      .def("leave", &Gradients::leave)
      .def("pass_begins_at", &Gradients::pass_begins_at);
}

}  // namespace ronde::python
