#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "parts.h"
#include "ronde/base/error.h"
#include "ronde/base/math/step_window.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/report/export/merge.h"
#include "ronde/trace/settings.h"
#include "ronde/trace/span_names.h"
#include "trace_args.h"
#include "trace_span.h"
#include "trace_target.h"

namespace ronde::python {
namespace {

TraceTarget& target() {
  return TraceTarget::of_process();
}

void counter(const py::str& name, const std::variant<std::int64_t, double>& value) {
  if (!target().attach_thread() || !target().recorder()) return;
  const trace::Name kept = target().name(name.ptr());
  std::visit([&](auto number) { trace::counter(kept, number); }, value);
}

void instant(const py::str& name, const std::optional<py::str>& category, const py::dict& arguments) {
  if (!target().attach_thread() || !target().recorder()) return;
  const trace::Name kept = target().name(name.ptr());
  const trace::Name sort = category && py::len(*category) > 0 ? target().name(category->ptr()) : trace::Name();
  EventArgs(target(), arguments.ptr()).pass_to([&](std::initializer_list<trace::Arg> list) {
    trace::instant(kept, sort, list);
  });
}

// Calls `work` with the recorder, if there is one.
template <class Work>
void with_recorder(const Work& work) {
  if (trace::Recorder* const recorder = target().recorder()) work(*recorder);
}

// Records one rank of a job without a session, as the settings trace.* ask for it. False: they do not. Ranks on one
// node have one clock.
bool begin_rank(int rank, int size, bool one_node) {
  std::optional<trace::RecorderOptions> options = trace::options_from(Settings::load(Environment::of_process(), {}));
  if (!options) return false;
  options->rank = rank;
  options->world_size = size;
  target().begin(std::move(*options));
  if (one_node && size > 1) target().recorder()->set_clock_offset(monotonic_now().count(), 0);
  return true;
}

py::dict merge(const std::filesystem::path& source, const std::filesystem::path& output, const std::string& format,
               const std::string& steps) {
  using namespace py::literals;
  const report::exporting::Merged merged = [&] {
    const py::gil_scoped_release unlocked;
    return report::exporting::merge({.source = source,
                                     .output = output,
                                     .format = report::exporting::parse_format(format),
                                     .steps = parse_step_window(steps)});
  }();
  return py::dict("output"_a = merged.output.string(), "bytes"_a = merged.bytes, "ranks"_a = merged.ranks,
                  "events"_a = merged.events, "problems"_a = merged.problems);
}

}  // namespace

void add_trace(py::module_& module) {
  py::module_ part = module.def_submodule("trace", "Spans and counters, as ronde.trace uses them.");
  part.def("counter", &counter);
  part.def("instant", &instant);
  part.def("step", [](std::int64_t number) { with_recorder([&](trace::Recorder& to) { to.step(number); }); });
  part.def("end_step", [] { with_recorder([](trace::Recorder& to) { to.end_step(); }); });
  part.def("metadata", [](const std::string& key, const std::string& value) {
    with_recorder([&](trace::Recorder& to) { to.set_metadata(key, value); });
  });
  part.def("failed", [](const std::string& why) {
    with_recorder([&](trace::Recorder& to) { to.set_metadata(trace::kFailure, why); });
  });
  part.def("flush", [] {
    with_recorder([](trace::Recorder& to) {
      const py::gil_scoped_release unlocked;
      to.flush();
    });
  });
  part.def("file", []() -> std::optional<std::filesystem::path> {
    trace::Recorder* const recorder = target().recorder();
    return recorder ? std::optional(recorder->file()) : std::nullopt;
  });
  part.def("recording", [] {
    const trace::Recorder* const recorder = target().recorder();
    return recorder && recorder->recording();
  });
  part.def("dropped", [] {
    const trace::Recorder* const recorder = target().recorder();
    return recorder ? recorder->dropped() : 0;
  });
  part.def("begin", [](const std::filesystem::path& folder) { target().begin({.folder = folder}); });
  part.def("begin_rank", &begin_rank);
  part.def("end", [] { target().end(); });
  part.def("merge", &merge);
  add_span(part);
  add_calls(part);
}

}  // namespace ronde::python
