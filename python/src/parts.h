#pragma once

#include <torch/extension.h>

// What ronde._core is made of: each adds its functions to the module. Python's side of it lies in ../ronde.
namespace ronde::python {

namespace py = pybind11;

void add_errors(py::module_& module);       // HorovodInternalError, and what becomes which exception
void add_session(py::module_& module);      // init, shutdown, who and where this rank is, groups
void add_collectives(py::module_& module);  // everything that moves tensors, but for
void add_fast(py::module_& module);         // what is called thousands of times a step
void add_gradients(py::module_& module);    // hooks for optimizers and models
void add_data(py::module_& module);         // the input pipeline
void add_trace(py::module_& module);        // spans and counters of the user's
void add_report(py::module_& module);       // where the time went
void add_timeline(py::module_& module);     // Horovod's
void add_c10d(py::module_& module);         // the backend of torch.distributed; c10d/
void add_train(py::module_& module);        // settings, checkpoints, deadlines for training loops

}  // namespace ronde::python
