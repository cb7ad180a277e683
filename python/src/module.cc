#include "parts.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The engine of Ronde, as the package's Python files use it.";
  ronde::python::add_errors(module);
  ronde::python::add_session(module);
  ronde::python::add_collectives(module);
  ronde::python::add_fast(module);
  ronde::python::add_gradients(module);
  ronde::python::add_data(module);
  ronde::python::add_trace(module);
  ronde::python::add_report(module);
  ronde::python::add_timeline(module);
  ronde::python::add_c10d(module);
  ronde::python::add_train(module);
}
