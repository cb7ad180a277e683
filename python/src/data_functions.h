#pragma once

#include <string>

#include "kept.h"
#include "ronde/data/dataset.h"

// Python functions as what the threads of a pipeline call. They take Python's lock for the time of the call. What a
// function raises becomes an Error (BadInput) that says which function and sample, with Python's traceback.
// Call these with the lock; what they return may be called, copied and let go without.
namespace ronde::python {

// function(sample) -> sample, or, where it draws, function(sample, (seed, epoch, index)).
data::steps::SampleFunction map_function(py::function function, std::string name, bool draws);
std::function<data::Sample(data::Sample)> batch_function(py::function function, std::string name);
std::function<bool(const data::Sample&)> filter_function(py::function function);
// function(sample) -> Dataset of C++
std::function<data::Dataset(const data::Sample&)> dataset_function(py::function function, std::string step);
// function(index) -> sample
std::function<data::Sample(std::int64_t)> index_function(py::function function, std::string name);
// restart(epoch) -> an iterator over samples
std::function<data::NextSample(std::int64_t)> restart_function(py::function restart, std::string name);

}  // namespace ronde::python
