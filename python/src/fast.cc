// What a program calls thousands of times a step, by Python's own calling convention: pybind11's costs a microsecond.
#include <torch/csrc/autograd/python_variable.h>

#include "errors.h"
#include "parts.h"
#include "state.h"
#include "submit.h"

namespace ronde::python {
namespace {

constexpr const char* kAllreduceDoc =
    "allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, "
    "process_set=None)\n--\n\n"
    "Starts to reduce a tensor in place over all ranks; returns a handle for poll() and synchronize().\n\n"
    ">>> handle = hvd.allreduce_async_(torch.ones(2), name='layer1.weight')\n"
    ">>> hvd.synchronize(handle)\n"
    "tensor([1., 1.])\n";
constexpr const char* kSynchronizeDoc =
    "synchronize(handle)\n--\n\n"
    "Waits until the request is done and returns its result. A handle that was waited for before gives None.\n\n"
    ">>> hvd.synchronize(hvd.allreduce_async_(torch.ones(2)))\n"
    "tensor([1., 1.])\n";
constexpr const char* kPollDoc =
    "poll(handle)\n--\n\nWhether synchronize(handle) would return at once.\n\n"
    ">>> hvd.poll(hvd.allreduce_async_(torch.ones(2))) in (True, False)\n"
    "True\n";

enum Argument { kTensor, kAverage, kName, kOp, kPrescale, kPostscale, kProcessSet, kArguments };
PyObject* argument_names[kArguments];  // interned texts; made once
PyObject* process_set_id;

bool read_arguments(PyObject* const* given, Py_ssize_t count, PyObject* names, PyObject** arguments) {
  if (count > kArguments) {
    PyErr_Format(PyExc_TypeError, "allreduce_async_() takes at most %d arguments", static_cast<int>(kArguments));
    return false;
  }
  std::copy_n(given, count, arguments);
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    int which = 0;
    while (which < kArguments && argument_names[which] != name) ++which;  // names in calls are interned,
    if (which == kArguments)                                              // nearly always
      for (which = 0; which < kArguments && PyUnicode_Compare(argument_names[which], name) != 0;) ++which;
    if (which == kArguments || arguments[which]) {
      PyErr_Format(PyExc_TypeError, "allreduce_async_() %s argument '%U'",
                   which == kArguments ? "got an unexpected keyword" : "got multiple values for", name);
      return false;
    }
    arguments[which] = given[count + i];
  }
  if (arguments[kTensor] && THPVariable_Check(arguments[kTensor])) return true;
  PyErr_SetString(PyExc_TypeError, "allreduce_async_() needs a tensor as its first argument");
  return false;
}

bool is_given(PyObject* argument) {
  return argument && argument != Py_None;
}

// The older `average` stands for op=Average or op=Sum. -1: Python's error is set.
int read_op(PyObject* op, PyObject* average) {
  if (is_given(op) && is_given(average)) {
    PyErr_SetString(PyExc_ValueError, "'op' replaces 'average': give only one of them");
    return -1;
  }
  if (is_given(op)) {
    const long number = PyLong_AsLong(op);
    return number < 0 ? -1 : static_cast<int>(number);
  }
  if (!is_given(average)) return 0;
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'average' is deprecated: use op=hvd.Average or op=hvd.Sum", 1) != 0)
    return -1;
  return PyObject_IsTrue(average) ? 0 : 1;
}

bool read_number(PyObject* argument, double& number) {
  if (!argument) return true;
  number = PyFloat_AsDouble(argument);
  return !(number == -1.0 && PyErr_Occurred());
}

// nullptr or None: the world, group 0. A process set: its number. -1: Python's error is set.
int read_group(PyObject* process_set) {
  if (!is_given(process_set)) return 0;
  const py::object number = py::reinterpret_steal<py::object>(PyObject_GetAttr(process_set, process_set_id));
  if (!number) return -1;
  if (number.is_none()) {
    PyErr_SetString(PyExc_ValueError, "the process set was not added, or has been removed: see add_process_set()");
    return -1;
  }
  const long value = PyLong_AsLong(number.ptr());
  return value < 0 ? -1 : static_cast<int>(value);
}

bool read_name(PyObject* argument, std::string& name) {
  if (!is_given(argument)) return true;
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(argument, &length);
  if (!text) return false;
  constexpr std::string_view kPrefix = "allreduce.";
  name.reserve(kPrefix.size() + static_cast<std::size_t>(length));
  name.append(kPrefix).append(text, static_cast<std::size_t>(length));
  return true;
}

PyObject* allreduce_async_(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
  PyObject* arguments[kArguments] = {};
  if (!read_arguments(given, count, names, arguments)) return nullptr;
  comm::Request like;
  const int op = read_op(arguments[kOp], arguments[kAverage]);
  const int group = read_group(arguments[kProcessSet]);
  if (op < 0 || group < 0 || !read_name(arguments[kName], like.name) ||
      !read_number(arguments[kPrescale], like.prescale) || !read_number(arguments[kPostscale], like.postscale))
    return PyErr_Occurred() ? nullptr : (PyErr_SetString(PyExc_ValueError, "op is not a reduction"), nullptr);
  try {
    State& state = State::of_process();
    like.op = reduce_op(op);
    const at::Tensor& tensor = THPVariable_Unpack(arguments[kTensor]);
    auto [request, part] = prepare(tensor, tensor, std::move(like));
    part.handle = state.group(group).submit(std::move(request));
    Pending pending;
    pending.parts.push_back(std::move(part));
    return PyLong_FromLong(state.pending().add(std::move(pending)));
  } catch (const Error& error) {
    set_error(error);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* synchronize(PyObject*, PyObject* handle) {
  if (!PyLong_Check(handle)) Py_RETURN_NONE;  // stands for no request
  const long number = PyLong_AsLong(handle);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  PendingTable& table = State::of_process().pending();
  Pending* const found = table.find(static_cast<int>(number));
  if (!found) Py_RETURN_NONE;
  Pending pending = std::move(*found);
  table.remove(static_cast<int>(number));
  try {
    pending.wait();
    return pending.take_result();
  } catch (py::error_already_set& error) {
    if (!pending.poll()) table.add(std::move(pending));  // it was interrupted: the engine still works on its tensors
    error.restore();
  } catch (const std::exception& error) {
    set_internal_error(error);
  }
  return nullptr;
}

PyObject* poll(PyObject*, PyObject* handle) {
  const long number = PyLong_AsLong(handle);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  const Pending* const found = State::of_process().pending().find(static_cast<int>(number));
  if (found) return PyBool_FromLong(found->poll());
  PyErr_Format(PyExc_ValueError, "%ld is not the handle of a request, or its result was already taken", number);
  return nullptr;
}

PyMethodDef methods[] = {
    {"allreduce_async_", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&allreduce_async_)),
     METH_FASTCALL | METH_KEYWORDS, kAllreduceDoc},
    {"synchronize", &synchronize, METH_O, kSynchronizeDoc},
    {"poll", &poll, METH_O, kPollDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_fast(py::module_& module) {
  constexpr const char* kNames[kArguments] = {"tensor",          "average",          "name",       "op",
                                              "prescale_factor", "postscale_factor", "process_set"};
  for (int i = 0; i < kArguments; ++i) argument_names[i] = PyUnicode_InternFromString(kNames[i]);
  process_set_id = PyUnicode_InternFromString("process_set_id");
  PyModule_AddFunctions(module.ptr(), methods);
}

}  // namespace ronde::python
