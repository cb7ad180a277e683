#include "trace_span.h"

#include "errors.h"
#include "ronde/base/error.h"
#include "trace_args.h"

namespace ronde::python {
namespace {

constexpr const char* kDoc =
    "span(name, category='', /, **arguments)\n--\n\n"
    "A timed piece of work of this thread, for ``with`` and as a decorator; costs next to nothing when no trace is\n"
    "recorded. Up to four arguments, numbers or texts, are shown with it.\n\n"
    ">>> import ronde.trace\n"
    ">>> with ronde.trace.span('mixup', samples=32):\n"
    "...     pass\n"
    ">>> @ronde.trace.span('augment')\n"
    "... def augment(picture):\n"
    "...     return picture\n";

struct SpanObject {
  PyObject_HEAD PyObject* name;
  PyObject* category;             // a str, or null
  PyObject* arguments;            // a dict, or null
  trace::detail::ThreadLog* log;  // while it is open
  std::size_t depth;              // how many spans are open with it
};

PyTypeObject* span_type = nullptr;  // Python's types live as long as the process
PyObject* decorate = nullptr;       // ronde.trace's: decorate(function, name, category, arguments)

SpanObject* object_of(PyObject* self) {
  return reinterpret_cast<SpanObject*>(self);
}

// Runs what may throw, for Python that may not see it.
template <class Work>
PyObject* guarded(const Work& work) {
  try {
    return work();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    set_error(error);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

void dealloc(PyObject* self) {
  SpanObject* const span = object_of(self);
  Py_XDECREF(span->name);
  Py_XDECREF(span->category);
  Py_XDECREF(span->arguments);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* enter(PyObject* self, PyObject*) {
  TraceTarget& target = TraceTarget::of_process();
  if (!target.attach_thread() || !target.recorder()) return Py_NewRef(self);
  return guarded([&]() -> PyObject* {
    SpanObject* const span = object_of(self);
    if (span->log) throw Error::bad_input("a span can be entered only once: call span() again");
    trace::detail::ThreadLog& log = *trace::detail::current_log;
    const trace::Name name = target.name(span->name);
    const trace::Name category = span->category ? target.name(span->category) : trace::Name();
    const EventArgs args(target, span->arguments);
    const bool begun = args.pass_to(
        [&](std::initializer_list<trace::Arg> list) { return trace::detail::begin_span(log, name, category, list); });
    if (begun) {
      span->log = &log;
      span->depth = trace::detail::open_spans(log);
    }
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  SpanObject* const span = object_of(self);
  // A recorder that has gone took the log with it.
  if (span->log && span->log == trace::detail::current_log) end_down_to(*span->log, span->depth);
  span->log = nullptr;
  Py_RETURN_NONE;
}

PyObject* call(PyObject* self, PyObject* positional, PyObject* named) {
  PyObject* function = nullptr;
  if (named && PyDict_GET_SIZE(named) > 0) {
    PyErr_SetString(PyExc_TypeError, "a span can decorate only a function");
    return nullptr;
  }
  if (!PyArg_ParseTuple(positional, "O", &function)) return nullptr;
  SpanObject* const span = object_of(self);
  return PyObject_CallFunctionObjArgs(decorate, function, span->name, span->category ? span->category : Py_None,
                                      span->arguments ? span->arguments : Py_None, nullptr);
}

PyObject* span(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
  if (count < 1 || count > 2 || !PyUnicode_Check(given[0]) || (count == 2 && !PyUnicode_Check(given[1]))) {
    PyErr_SetString(PyExc_TypeError, "span() needs a name and takes an optional category: both must be strings");
    return nullptr;
  }
  PyObject* arguments = nullptr;
  if (names && PyTuple_GET_SIZE(names) > 0) {
    arguments = PyDict_New();
    for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(names); ++i)
      if (PyDict_SetItem(arguments, PyTuple_GET_ITEM(names, i), given[count + i]) != 0) Py_CLEAR(arguments);
    if (!arguments) return nullptr;
  }
  auto* const made = PyObject_New(SpanObject, span_type);
  if (!made) {
    Py_XDECREF(arguments);
    return nullptr;
  }
  made->name = Py_NewRef(given[0]);
  made->category = count == 2 && PyUnicode_GET_LENGTH(given[1]) > 0 ? Py_NewRef(given[1]) : nullptr;
  made->arguments = arguments;
  made->log = nullptr;
  made->depth = 0;
  return reinterpret_cast<PyObject*>(made);
}

template <class Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

}  // namespace

EventArgs::EventArgs(TraceTarget& target, PyObject* dict) {
  if (!dict) return;
  if (static_cast<std::size_t>(PyDict_GET_SIZE(dict)) > kMost)
    throw Error::bad_input("an event takes at most {} arguments, got {}", kMost, PyDict_GET_SIZE(dict));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const trace::Name name = target.name(key);
    if (PyUnicode_Check(value)) {
      args_[count_++] = trace::Arg(name, target.name(value));
    } else if (PyFloat_Check(value)) {
      args_[count_++] = trace::Arg(name, PyFloat_AS_DOUBLE(value));
    } else {
      const long long number = PyLong_AsLongLong(value);
      if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
      args_[count_++] = trace::Arg(name, number);
    }
  }
}

void add_span(py::module_& module) {
  static PyMethodDef methods[] = {{"__enter__", &enter, METH_NOARGS, nullptr},
                                  {"__exit__", as_method(&leave), METH_FASTCALL, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                                {Py_tp_call, reinterpret_cast<void*>(&call)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"ronde._core.trace.Span", sizeof(SpanObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static PyMethodDef function = {"span", as_method(&span), METH_FASTCALL | METH_KEYWORDS, kDoc};
  const auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  span_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type.ptr()));
  module.attr("Span") = type;
  module.attr("span") = py::reinterpret_steal<py::object>(PyCFunction_New(&function, nullptr));
  module.def("set_decorator", [](py::function given) { decorate = given.release().ptr(); });
}

}  // namespace ronde::python
