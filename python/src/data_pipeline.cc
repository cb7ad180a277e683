#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <pybind11/stl.h>

#include "data_parts.h"
#include "data_values.h"
#include "parts.h"
#include "ronde/base/error.h"
#include "ronde/base/log.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/mutex.h"
#include "ronde/data/dataset.h"
#include "ronde/data/settings.h"
#include "ronde/data/tools/advice.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "trace_target.h"

namespace ronde::python {
namespace {

using data::Dataset;

// What a pipeline says while it runs: to the log, and kept for who asks.
class Sentences {
 public:
  explicit Sentences(Log log) : log_(std::move(log)) {}
  void add(const std::string& sentence) {
    log_.warn("{}", sentence);
    const Lock lock(mutex_);
    if (all_.size() < kMost) all_.push_back(sentence);
  }
  std::vector<std::string> all() const {
    const Lock lock(mutex_);
    return all_;
  }

 private:
  static constexpr std::size_t kMost = 1000;
  const Log log_;
  mutable Mutex mutex_;
  std::vector<std::string> all_ RONDE_GUARDED_BY(mutex_);
};

// A pipeline that several Python threads may hold, and that ends with a sentence rather than with its recorder. Waits
// without Python's lock, which the pipeline's own threads may need.
class OpenPipeline {
 public:
  OpenPipeline(const Dataset& dataset, const std::map<std::string, std::string>& given,
               std::optional<data::Position> start) {
    std::vector<Settings::Flag> flags;
    for (const auto& [key, text] : given) flags.push_back({.key = key, .text = text, .origin = "open(" + key + ")"});
    const Settings settings = Settings::load(Environment::of_process(), flags);
    data::PipelineOptions options = data::pipeline_options(settings);
    sentences_ = std::make_shared<Sentences>(Log({.level = parse_log_level(settings.get<"log.level">())}));
    options.say = [said = sentences_](const std::string& sentence) { said->add(sentence); };
    options.recorder = TraceTarget::of_process().recorder();
    recorded_ = options.recorder != nullptr;
    if (recorded_) TraceTarget::of_process().watch_session();
    {
      const py::gil_scoped_release unlocked;
      pipeline_.emplace(dataset.open(std::move(options), start));
    }
  }
  ~OpenPipeline() { close("the pipeline was closed"); }
  OpenPipeline(const OpenPipeline&) = delete;
  OpenPipeline& operator=(const OpenPipeline&) = delete;

  // None: all epochs are over.
  std::optional<py::dict> next() {
    TraceTarget::of_process().attach_thread();
    std::optional<data::Sample> sample;
    {
      const py::gil_scoped_release unlocked;
      const trace::Span span(trace::span_names::kWaitForInput);
      const Lock lock(mutex_);
      sample = pipeline().next();
    }
    if (!sample) return {};
    return to_python(*sample);
  }

  // Calls `question` with the pipeline, without Python's lock.
  template <class Question>
  auto ask(const Question& question) {
    const py::gil_scoped_release unlocked;
    const Lock lock(mutex_);
    return question(pipeline());
  }

  std::vector<std::string> said() const { return sentences_->all(); }
  bool recorded() const { return recorded_; }

  void close(const std::string& why) {
    const py::gil_scoped_release unlocked;
    const Lock lock(mutex_);
    if (!pipeline_) return;
    pipeline_.reset();
    closed_ = why;
  }

  // All that there are; Python's lock protects it. As long as the process: Python ends before static objects do.
  static std::vector<std::weak_ptr<OpenPipeline>>& all() {
    static auto* const pipelines = new std::vector<std::weak_ptr<OpenPipeline>>;
    return *pipelines;
  }

 private:
  data::Pipeline& pipeline() RONDE_REQUIRES(mutex_) {
    if (!pipeline_) throw Error::bad_input("{}: open another", closed_);
    return *pipeline_;
  }

  std::shared_ptr<Sentences> sentences_;
  bool recorded_ = false;
  Mutex mutex_;
  std::optional<data::Pipeline> pipeline_ RONDE_GUARDED_BY(mutex_);
  std::string closed_ RONDE_GUARDED_BY(mutex_);
};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

py::dict dict_of(const data::StageStats& stage) {
  using namespace py::literals;
  return py::dict("name"_a = stage.name, "threads"_a = stage.threads, "waits"_a = stage.waits,
                  "busy_s"_a = seconds(stage.busy), "input_s"_a = seconds(stage.input),
                  "room_s"_a = seconds(stage.room), "runs"_a = stage.runs, "samples"_a = stage.samples,
                  "bytes"_a = stage.bytes, "ready"_a = stage.ready, "capacity"_a = stage.capacity,
                  "busy_share"_a = stage.busy_share());
}

std::vector<data::StageStats> stages(OpenPipeline& open) {
  return open.ask([](data::Pipeline& pipeline) { return pipeline.stages(); });
}

py::dict stats(OpenPipeline& open) {
  using namespace py::literals;
  py::list all;
  const auto found = stages(open);
  for (const data::StageStats& stage : found) all.append(dict_of(stage));
  struct Facts {
    std::int64_t epoch, skipped;
    std::size_t peak;
    std::chrono::nanoseconds waited;
  };
  const Facts facts = open.ask([](data::Pipeline& pipeline) {
    return Facts{pipeline.epoch(), pipeline.skipped(), pipeline.peak_bytes(), pipeline.waited()};
  });
  return py::dict("stages"_a = all, "limit"_a = data::limiting_stage(found), "epoch"_a = facts.epoch,
                  "skipped"_a = facts.skipped, "peak_bytes"_a = facts.peak, "waited_s"_a = seconds(facts.waited));
}

std::shared_ptr<OpenPipeline> open(const Dataset& dataset, const std::map<std::string, std::string>& settings,
                                   const std::optional<std::tuple<std::int64_t, std::int64_t, std::uint64_t>>& start) {
  std::optional<data::Position> position;
  if (start) position = data::Position{std::get<0>(*start), std::get<1>(*start), std::get<2>(*start)};
  auto made = std::make_shared<OpenPipeline>(dataset, settings, position);
  auto& all = OpenPipeline::all();
  std::erase_if(all, [](const auto& one) { return one.expired(); });
  all.push_back(made);
  return made;
}

// Those that are there now, held so that none goes meanwhile.
std::vector<std::shared_ptr<OpenPipeline>> held() {
  std::vector<std::shared_ptr<OpenPipeline>> all;
  for (const auto& one : OpenPipeline::all())
    if (auto pipeline = one.lock()) all.push_back(std::move(pipeline));
  return all;
}

}  // namespace

void close_recorded_pipelines() {
  for (const auto& one : held())
    if (one->recorded()) one->close("the pipeline recorded for a session that has ended");
}

void add_pipeline(py::module_& module) {
  py::class_<OpenPipeline, std::shared_ptr<OpenPipeline>>(module, "Pipeline")
      .def("next", &OpenPipeline::next)
      .def("close", [](OpenPipeline& pipeline) { pipeline.close("the pipeline was closed"); })
      .def("position",
           [](OpenPipeline& open) {
             const auto at = open.ask([](data::Pipeline& pipeline) { return pipeline.position(); });
             return std::make_tuple(at.epoch, at.position, at.seed);
           })
      .def("stats", &stats)
      .def("advice", [](OpenPipeline& open) {
        std::vector<std::string> all = open.said();
        for (std::string& sentence : data::advise_on_stages(stages(open))) all.push_back(std::move(sentence));
        return all;
      });
  module.def("open", &open);
  module.def("close_all", [] {
    for (const auto& one : held()) one->close("Python is ending");
  });
}

}  // namespace ronde::python
