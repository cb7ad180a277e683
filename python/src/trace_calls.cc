// Spans of Python functions' calls, by the hook that Python has for profilers.
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ronde/base/error.h"
#include "trace_args.h"
#include "trace_span.h"

namespace ronde::python {
namespace {

constexpr int kStopsHalfway = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;

// Which functions are recorded, decided once for each. Python's lock protects it.
struct Calls {
  py::object decide;  // decide(module, function) -> the name of its spans, or None
  struct Known {
    py::object code;  // kept, so that its address stays its own
    py::object name;  // null: not recorded
  };
  std::unordered_map<PyObject*, Known> known;
  std::uint64_t number = 0;  // of the recording; 0: none is going on
  std::uint64_t begun = 0;
};

Calls& calls() {
  static auto* const all = new Calls;  // as long as the process: Python ends before static objects do
  return *all;
}

// The calls of a thread that have not returned: how many spans were open with its own; 0: it has none.
struct Stack {
  std::uint64_t number = 0;
  std::vector<std::size_t> depths;
  static Stack& of_this_thread() {
    static thread_local Stack stack;
    if (stack.number != calls().number) stack = {.number = calls().number, .depths = {}};
    return stack;
  }
};

py::object attribute(const py::object& object, const char* name, const char* otherwise) {
  return py::getattr(object, name, otherwise ? py::getattr(object, otherwise, py::none()) : py::none());
}

PyObject* name_of(PyFrameObject* frame) {
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  auto& known = calls().known;
  if (const auto found = known.find(code.ptr()); found != known.end()) return found->second.name.ptr();
  py::object name;
  // What stops halfway and goes on elsewhere has no beginning and end that nest.
  if ((code.attr("co_flags").cast<int>() & kStopsHalfway) == 0) {
    const auto globals = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(frame)).attr("f_globals");
    const py::object module = globals.attr("get")("__name__", "");
    name = calls().decide(module, attribute(code, "co_qualname", "co_name"));
    if (name.is_none()) name = py::object();
  }
  PyObject* const key = code.ptr();
  return known.emplace(key, Calls::Known{code, name}).first->second.name.ptr();
}

std::size_t begin(PyFrameObject* frame) {
  PyObject* const name = name_of(frame);
  TraceTarget& target = TraceTarget::of_process();
  if (!name || !target.attach_thread() || !target.recorder()) return 0;
  trace::detail::ThreadLog& log = *trace::detail::current_log;
  return trace::detail::begin_span(log, target.name(name), trace::Name("python"), {}) ? trace::detail::open_spans(log)
                                                                                      : 0;
}

int hook(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  if (calls().number == 0 || (what != PyTrace_CALL && what != PyTrace_RETURN)) return 0;
  try {
    auto& depths = Stack::of_this_thread().depths;
    if (what == PyTrace_CALL) {
      depths.push_back(begin(frame));
    } else if (!depths.empty()) {
      const std::size_t depth = depths.back();
      depths.pop_back();
      if (depth > 0 && trace::detail::current_log) end_down_to(*trace::detail::current_log, depth);
    }
  } catch (py::error_already_set& error) {
    error.restore();
    return -1;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return -1;
  }
  return 0;
}

}  // namespace

void add_calls(py::module_& module) {
  module.def("calls_begin", [](py::function decide) {
    Calls& all = calls();
    if (all.number != 0) throw Error::bad_input("calls are already being recorded: calls() cannot be nested");
    all.decide = std::move(decide);
    all.number = ++all.begun;
    PyEval_SetProfile(&hook, nullptr);
  });
  // For threads that begin later: threading.setprofile() gives each of them this, and it makes way for the hook.
  module.def("calls_thread", [](const py::args&) { PyEval_SetProfile(&hook, nullptr); });
  module.def("calls_end", [] {
    Calls& all = calls();
    PyEval_SetProfile(nullptr, nullptr);
    all.number = 0;
    all.known.clear();
    all.decide = py::object();
  });
}

}  // namespace ronde::python
