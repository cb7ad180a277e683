#include "data_functions.h"

#include <utility>

#include "data_values.h"
#include "ronde/base/error.h"

namespace ronde::python {
namespace {

using data::Sample;

// "ValueError: no such file", then where that was, as Python prints it.
std::string text_of(const py::error_already_set& error) {
  const py::module_ traceback = py::module_::import("traceback");
  const auto joined = [](const py::object& lines) { return py::str("").attr("join")(lines).cast<std::string>(); };
  const py::object trace = error.trace() ? error.trace() : py::none();
  std::string last = joined(traceback.attr("format_exception_only")(error.type(), error.value()));
  std::string all = joined(traceback.attr("format_exception")(error.type(), error.value(), trace));
  while (!last.empty() && last.back() == '\n') last.pop_back();
  while (!all.empty() && all.back() == '\n') all.pop_back();
  return last + "\n" + all;
}

// Does `work` with Python's lock. `what` says what it is, if it fails.
template <class What, class Work>
auto with_python(const What& what, const Work& work) {
  if (!Py_IsInitialized()) throw Error(Error::Kind::System, "Python has ended");
  const py::gil_scoped_acquire lock;
  try {
    return work();
  } catch (const py::error_already_set& error) {
    throw Error::bad_input("{}: {}", what(), text_of(error));
  } catch (const Error& error) {
    throw Error::bad_input("{}: {}", what(), error.message());
  } catch (const std::exception& error) {  // c10::Error, for example
    throw Error::bad_input("{}: {}", what(), error.what());
  }
}

// The name of a sample in messages: its key, if it has one.
std::string name_of(const Sample& sample) {
  const data::Array* const key = sample.find("key");
  return key ? fmt::format(" ('{}')", key->text()) : std::string();
}

py::object call(const Kept& function, const auto&... arguments) {
  return py::reinterpret_borrow<py::object>(function.get())(arguments...);
}

// An iterator of Python, asked by one thread at a time.
class Iterator {
 public:
  Iterator(Kept iterator, std::string name, std::int64_t epoch)
      : iterator_(std::move(iterator)), name_(std::move(name)), epoch_(epoch) {}

  std::optional<Sample> next() {
    const auto what = [&] { return fmt::format("{}, sample {} of epoch {}", name_, taken_, epoch_); };
    return with_python(what, [&]() -> std::optional<Sample> {
      const auto value = py::reinterpret_steal<py::object>(PyIter_Next(iterator_.get()));
      if (!value && PyErr_Occurred()) throw py::error_already_set();
      if (!value) return {};
      Sample sample = to_sample(value);
      ++taken_;
      return sample;
    });
  }

 private:
  const Kept iterator_;
  const std::string name_;
  const std::int64_t epoch_;
  std::int64_t taken_ = 0;
};

}  // namespace

data::steps::SampleFunction map_function(py::function function, std::string name, bool draws) {
  return [kept = keep(std::move(function)), name = std::move(name), draws](Sample sample, const data::Draw& draw) {
    const auto what = [&] {
      return fmt::format("map '{}', sample {}{} of epoch {}", name, draw.index, name_of(sample), draw.epoch);
    };
    return with_python(what, [&] {
      const py::dict values = to_python(sample);
      return to_sample(draws ? call(kept, values, py::make_tuple(draw.seed, draw.epoch, draw.index))
                             : call(kept, values));
    });
  };
}

std::function<Sample(Sample)> batch_function(py::function function, std::string name) {
  return [kept = keep(std::move(function)), name = std::move(name)](const Sample& batch) {
    return with_python([&] { return fmt::format("map_batch '{}'", name); },
                       [&] { return to_sample(call(kept, to_python(batch))); });
  };
}

std::function<bool(const Sample&)> filter_function(py::function function) {
  return [kept = keep(std::move(function))](const Sample& sample) {
    return with_python([&] { return fmt::format("filter, a sample{}", name_of(sample)); },
                       [&] { return py::bool_(call(kept, to_python(sample))).cast<bool>(); });
  };
}

std::function<data::Dataset(const Sample&)> dataset_function(py::function function, std::string step) {
  return [kept = keep(std::move(function)), step = std::move(step)](const Sample& sample) {
    return with_python([&] { return fmt::format("{}, a sample{}", step, name_of(sample)); },
                       [&] { return call(kept, to_python(sample)).template cast<data::Dataset>(); });
  };
}

std::function<Sample(std::int64_t)> index_function(py::function function, std::string name) {
  return [kept = keep(std::move(function)), name = std::move(name)](std::int64_t index) {
    return with_python([&] { return fmt::format("{}, sample {}", name, index); },
                       [&] { return to_sample(call(kept, index)); });
  };
}

std::function<data::NextSample(std::int64_t)> restart_function(py::function restart, std::string name) {
  return [kept = keep(std::move(restart)), name = std::move(name)](std::int64_t epoch) -> data::NextSample {
    auto iterator = with_python([&] { return fmt::format("{}, at the beginning of epoch {}", name, epoch); },
                                [&] {
                                  const py::object made = call(kept, epoch);
                                  auto begun = py::reinterpret_steal<py::object>(PyObject_GetIter(made.ptr()));
                                  if (!begun) throw py::error_already_set();
                                  return std::make_shared<Iterator>(keep(std::move(begun)), name, epoch);
                                });
    return [iterator] { return iterator->next(); };
  };
}

}  // namespace ronde::python
