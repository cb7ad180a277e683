#pragma once

#include "kept.h"
#include "ronde/data/sample.h"

// Samples and batches between C++ and Python, without copies. Call with Python's lock.
namespace ronde::python {

// A dict of tensors by name. A tensor shares the memory of its array, and keeps it: a batch lives as long as a tensor
// of it does.
py::dict to_python(const data::Sample& sample);

// A dict of what is an array to Python: tensors of the host, NumPy arrays, numbers, lists of them, texts and bytes. Two
// values in a tuple are an "image" and its "class". Contiguous tensors and arrays are shared, and kept.
// FAILS WITH: BadInput, naming the value that cannot be.
data::Sample to_sample(py::handle value);

}  // namespace ronde::python
