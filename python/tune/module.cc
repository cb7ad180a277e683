// ronde._tune: searches for Python, without torch. It only translates; ronde/tune/ has the words of Ray Tune.
#include <csignal>
#include <string>
#include <utility>

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/tune/output/overview.h"
#include "ronde/tune/run/runner.h"
#include "ronde/tune/run/worker.h"
#include "ronde/tune/samplers/sampler.h"
#include "ronde/tune/schedulers/scheduler.h"

namespace py = pybind11;

namespace ronde::tune {
namespace {

// Values cross as JSON text: Python's own parser makes dicts and lists of it.
std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error::bad_input("{}", error.what());
  }
}

std::chrono::nanoseconds seconds(double value) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(value));
}

// A search in a folder, as Tuner.fit() uses it.
class PythonSearch {
 public:
  PythonSearch(std::string folder, const std::string& options, py::object compute)
      : folder_(std::move(folder)), compute_(std::move(compute)), search_(make(options)) {}

  struct Callbacks {
    py::object start_worker, stops, show, warn, interrupted;
  };

  std::string run(int slots, double trial_timeout, double time_budget, double deadline, const Callbacks& calls) {
    RunOptions options;
    options.folder = folder_;
    options.slots = slots;
    options.trial_timeout = seconds(trial_timeout);
    options.time_budget = seconds(time_budget);
    options.deadline = seconds(deadline);
    options.start_worker = [&](int slot) {
      const py::gil_scoped_acquire locked;
      const auto [pid, descriptor] = calls.start_worker(slot).cast<std::pair<pid_t, int>>();
      return WorkerProcess{pid, FileDescriptor(descriptor)};
    };
    if (!calls.stops.is_none())
      options.stops = [&](const Trial& trial, const Json& result) {
        const py::gil_scoped_acquire locked;
        return calls.stops(trial.number, text_of(result)).cast<bool>();
      };
    options.show = [&](const Search&, bool is_end) {
      const py::gil_scoped_acquire locked;
      calls.show(is_end);
    };
    options.warn = [&](const std::string& text) {
      const py::gil_scoped_acquire locked;
      calls.warn(text);
    };
    options.interrupted = [&] {
      const py::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return calls.interrupted().cast<bool>();
    };
    const py::gil_scoped_release unlocked;
    switch (run_search(search_, options)) {
      case RunEnd::Finished: return "finished";
      case RunEnd::TimeIsOver: return "time_is_over";
      case RunEnd::ToContinue: return "to_continue";
    }
    return "";
  }

  std::string trials(int from) const {
    Json list = Json::array();
    for (const Trial& trial : search_.search().trials())
      if (trial.number >= from) list.push_back(to_json(trial));
    return text_of(list);
  }

  int count() const { return static_cast<int>(search_.search().trials().size()); }
  int resumed() const { return static_cast<int>(search_.resumed_trials()); }
  int done() const { return search_.search().counts().done(); }
  int failed() const { return search_.search().counts().failed; }
  std::string headline(double elapsed, int done_before, double time_budget) const {
    return tune::headline(
        search_.search(),
        {.elapsed = seconds(elapsed), .done_before = done_before, .time_budget = seconds(time_budget)});
  }

 private:
  RecordedSearch make(const std::string& options) {
    Space::Compute compute;
    if (!compute_.is_none())
      compute = [this](const Json& function, const Json& config) {
        const py::gil_scoped_acquire locked;
        return parse(compute_(text_of(function), text_of(config)).cast<std::string>());
      };
    return {std::filesystem::path(folder_) / "journal.jsonl", search_options(parse(options)), std::move(compute)};
  }

  std::string folder_;
  py::object compute_;
  RecordedSearch search_;
};

template <class Entry>
py::list names_of(const std::vector<Entry>& entries) {
  py::list names;
  for (const Entry& entry : entries) names.append(std::string(entry.name));
  return names;
}

}  // namespace

PYBIND11_MODULE(_tune, module) {
  module.doc() = "Searches over hyperparameters; ronde.tune is what programs use.";
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      PyErr_SetString(error.kind() == Error::Kind::BadInput ? PyExc_ValueError : PyExc_RuntimeError, error.what());
    }
  });
  py::class_<PythonSearch>(module, "Search")
      .def(py::init<std::string, const std::string&, py::object>(), py::arg("folder"), py::arg("options"),
           py::arg("compute") = py::none())
      .def(
          "run",
          [](PythonSearch& self, int slots, double trial_timeout, double time_budget, double deadline,
             py::object start_worker, py::object stops, py::object show, py::object warn, py::object interrupted) {
            return self.run(
                slots, trial_timeout, time_budget, deadline,
                {std::move(start_worker), std::move(stops), std::move(show), std::move(warn), std::move(interrupted)});
          },
          py::kw_only(), py::arg("slots"), py::arg("trial_timeout"), py::arg("time_budget"), py::arg("deadline"),
          py::arg("start_worker"), py::arg("stops"), py::arg("show"), py::arg("warn"), py::arg("interrupted"))
      .def("trials", &PythonSearch::trials, py::arg("start") = 0)
      .def("headline", &PythonSearch::headline, py::arg("elapsed"), py::arg("done_before"), py::arg("time_budget"))
      .def_property_readonly("count", &PythonSearch::count)
      .def_property_readonly("resumed", &PythonSearch::resumed)
      .def_property_readonly("done", &PythonSearch::done)
      .def_property_readonly("failed", &PythonSearch::failed);
  module.def("schedulers", [] { return names_of(scheduler_entries()); });
  module.def("samplers", [] { return names_of(sampler_entries()); });
  module.def("check_scheduler", [](const std::string& name, const std::string& options) {
    make_scheduler(find_scheduler(name), {.options = parse(options)});
  });
}

}  // namespace ronde::tune
