#pragma once

#include <torch/extension.h>

namespace ronde::python {

// Pipelines: datasets at work. Datasets must have been added.
void add_pipeline(pybind11::module_& module);

// Ends those that record with the session's recorder, which is about to go. Call with Python's lock.
void close_recorded_pipelines();

}  // namespace ronde::python
