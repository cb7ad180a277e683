// Horovod's timeline: what the session's recorder has recorded between two moments, as Chrome's JSON.
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <pybind11/stl/filesystem.h>

#include "parts.h"
#include "ronde/base/error.h"
#include "ronde/report/export/sink.h"
#include "ronde/report/export/step_filter.h"
#include "ronde/trace/file/reader.h"
#include "state.h"

namespace ronde::python {
namespace {

using std::filesystem::path;
namespace exporting = report::exporting;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// How far the clock of a file is ahead of this machine's.
class ClockOfFile final : public trace::TraceVisitor {
 public:
  void event(const trace::ReadEvent&) override {}
  void clocks(const trace::ReadClocks& clocks) override { ahead_ = clocks.trace - clocks.local; }
  std::int64_t of(std::int64_t local) const { return local + ahead_; }

 private:
  std::int64_t ahead_ = 0;
};

// One that is being recorded. Only rank 0 writes a file, as in Horovod; the others just follow.
class Timeline {
 public:
  Timeline(path file, bool cycles) : file_(std::move(file)), cycles_(cycles) {}

  const path& file() const { return file_; }

  // A file that is whole, or none.
  void write(trace::Recorder& recorder, int rank) const {
    const std::int64_t end = now();
    recorder.flush();
    ClockOfFile clock;
    trace::read_trace(recorder.file(), clock);
    const path partial = file_.string() + ".partial";
    const auto sink = exporting::chrome_sink(partial, clock.of(begin_), cycles_);
    exporting::StepFilter between({{rank, {clock.of(begin_), clock.of(end)}}}, *sink);
    trace::read_trace(recorder.file(), between);  // the recorder goes on: what is cut off at its end is not ours
    sink->finish();
    std::error_code failure;
    std::filesystem::rename(partial, file_, failure);
    if (failure) throw Error::system(failure.value(), "cannot write the timeline '{}'", file_.string());
  }

 private:
  path file_;
  bool cycles_;
  std::int64_t begin_ = now();
};

struct Timelines {
  std::optional<Timeline> running;
  bool only_for_timelines = false;  // nothing else wants what the recorder records
};

Timelines& timelines() {
  static auto* const state = new Timelines;  // as long as the process, like State
  return *state;
}

trace::Recorder& recorder() {
  trace::Recorder* const found = State::of_process().session().recorder();
  if (!found)
    throw Error::bad_input(
        "start_timeline() needs HOROVOD_TIMELINE in the environment of the job: DYNAMIC or the name of a file");
  return *found;
}

void stop();

// What nobody has stopped is written when the session ends.
class Watch final : public SessionUser {
 public:
  void session_ends() override {
    try {
      stop();
    } catch (const std::exception& error) {  // it must not keep the ranks from leaving one another
      if (PyErr_WarnEx(PyExc_RuntimeWarning, error.what(), 1) != 0) PyErr_WriteUnraisable(nullptr);
    }
    timelines() = {};
  }
};

void watch_session() {
  static auto* const watch = new Watch;  // as long as the process, like State
  State::of_process().add_user(watch);
}

void start(const path& file, bool mark_cycles) {
  if (timelines().running && timelines().running->file() == file) return;
  const path folder = std::filesystem::absolute(file).parent_path();
  if (State::of_process().session().rank() == 0 && !std::filesystem::is_directory(folder))
    throw Error::bad_input("cannot write the timeline: there is no folder '{}'", folder.string());
  stop();  // one that runs is written
  trace::Recorder& to = recorder();
  to.start();
  timelines().running.emplace(file, mark_cycles);
  watch_session();
}

void stop() {
  if (!timelines().running) return;
  const Timeline ending = *timelines().running;
  timelines().running.reset();
  Session& session = State::of_process().session();
  trace::Recorder& from = recorder();
  const bool pause = timelines().only_for_timelines;
  const py::gil_scoped_release unlocked;
  if (session.rank() == 0) ending.write(from, 0);
  if (pause) from.stop();
}

}  // namespace

void add_timeline(py::module_& module) {
  module.def("timeline_start", &start);
  module.def("timeline_stop", &stop);
  // The recorder is there for timelines alone: it rests until one is started.
  module.def("timeline_only", [] {
    timelines() = {.running = {}, .only_for_timelines = true};
    recorder().stop();
    watch_session();
  });
}

}  // namespace ronde::python
