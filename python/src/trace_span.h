#pragma once

#include <torch/extension.h>

namespace ronde::python {

// span(): by Python's own calling convention, since a span is worth its name only where it costs next to nothing.
void add_span(pybind11::module_& module);

// Spans of Python functions' calls.
void add_calls(pybind11::module_& module);

}  // namespace ronde::python
