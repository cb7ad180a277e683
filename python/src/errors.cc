#include "errors.h"

#include "parts.h"

namespace ronde::python {
namespace {

PyObject* internal = nullptr;  // Python's exception types live as long as the process

}  // namespace

PyObject* internal_error() {
  return internal;
}

void set_error(const Error& error) {
  if (error.kind() == Error::Kind::BadInput)
    PyErr_SetString(PyExc_ValueError, error.what());
  else
    set_internal_error(error);
}

void set_internal_error(const std::exception& error) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  py::object made = py::reinterpret_borrow<py::object>(internal)(error.what());
  if (ours) made.attr("kind") = std::string(name(ours->kind()));
  PyErr_SetObject(internal, made.ptr());
}

void add_errors(py::module_& module) {
  internal = PyErr_NewExceptionWithDoc("ronde.common.exceptions.HorovodInternalError",
                                       "A collective failed: a rank was lost, or ranks asked for different things.",
                                       PyExc_RuntimeError, nullptr);
  module.attr("HorovodInternalError") = py::reinterpret_borrow<py::object>(internal);
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(error);
    }
  });
}

}  // namespace ronde::python
