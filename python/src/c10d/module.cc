#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include "../parts.h"
#include "backend.h"
#include "ronde/base/settings/environment.h"
#include "ronde/comm/mpi_bootstrap.h"

namespace ronde::python {

namespace {

// Everyone's text for one's own, by rank.
std::vector<std::string> tell_all(const std::string& mine) {
  const Session& session = State::of_process().session();
  const py::gil_scoped_release unlocked;
  std::vector<std::uint8_t> bytes(mine.begin(), mine.end());
  const comm::Result result = session.world().run(
      {.operation = comm::Operation::Allgather, .name = "texts of all", .input = comm::buffer_of(bytes)});
  std::vector<std::string> all;
  const auto* next = static_cast<const char*>(result.output.data);
  for (const std::int64_t length : result.splits) {
    all.emplace_back(next, static_cast<std::size_t>(length));
    next += length;
  }
  return all;
}

}  // namespace

void add_c10d(py::module_& module) {
  using c10d_backend::Backend;
  using c10d_backend::Job;
  using c10d_backend::Place;
  module.def("under_mpi", [] { return comm::runs_under_mpi(Environment::of_process()); });
  module.def("start_by_launcher", [](const std::string& timeout) {
    State::of_process().start(c10d_backend::settings_with(timeout), nullptr);
  });
  module.def("tell_all", &tell_all);
  py::class_<Job, std::shared_ptr<Job>>(module, "ProcessGroups")
      .def(py::init(&Job::begin))
      .def("running", &Job::running)
      .def("end", &Job::end, py::call_guard<py::gil_scoped_release>())
      .def("world",
           [](const std::shared_ptr<Job>& job, int rank, int size,
              std::chrono::milliseconds timeout) -> c10::intrusive_ptr<::c10d::Backend> {
             return c10::make_intrusive<Backend>(job, std::nullopt, Place{rank, size}, timeout);
           })
      .def("group",
           [](const std::shared_ptr<Job>& job, const std::vector<int>& ranks, int rank,
              std::chrono::milliseconds timeout) -> c10::intrusive_ptr<::c10d::Backend> {
             const py::gil_scoped_release unlocked;
             auto made = job->make_group(ranks);
             return c10::make_intrusive<Backend>(job, std::move(made), Place{rank, static_cast<int>(ranks.size())},
                                                 timeout);
           });
}

}  // namespace ronde::python
