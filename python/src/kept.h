#pragma once

#include <memory>
#include <utility>

#include <torch/extension.h>

namespace ronde::python {

namespace py = pybind11;

// A Python object that threads without Python's lock may hold, copy and let go. When Python has ended, it is left to
// itself.
using Kept = std::shared_ptr<PyObject>;

// Call with the lock.
inline Kept keep(py::object object) {
  return {object.release().ptr(), [](PyObject* gone) {
            if (!Py_IsInitialized()) return;
            const py::gil_scoped_acquire lock;
            Py_DECREF(gone);
          }};
}

}  // namespace ronde::python
