// What ronde.train uses of the trainer: settings and schedules, checkpoints, logs, deadlines and the noise scale.
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "parts.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/train/checkpoint.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/checkpoint/checkpoint_interval.h"
#include "ronde/train/checkpoint/checkpoint_manifest.h"
#include "ronde/train/checkpoint/checkpoint_writer.h"
#include "ronde/train/logging/metrics_log.h"
#include "ronde/train/logging/tensorboard.h"
#include "ronde/train/loop/checkpoint_manager.h"
#include "ronde/train/loop/noise_scale.h"
#include "ronde/train/loop/resume_rules.h"
#include "ronde/train/loop/time_limit.h"
#include "ronde/train/options.h"
#include "ronde/train/recipes.h"
#include "ronde/train/schedule.h"
#include "ronde/train/session/interrupt.h"
#include "ronde/train/session/output_folder.h"
#include "unlocked.h"

namespace ronde::python {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;
using Seconds = std::chrono::duration<double>;

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
}

// --- Settings and schedules

Settings settings_of(const std::string& recipe, const Texts& given) {
  std::vector<Settings::Flag> flags;
  for (const auto& [key, text] : given) flags.push_back({.key = key, .text = text, .origin = "the argument settings"});
  const Settings::Recipe found = recipe.empty() ? Settings::Recipe{} : train::find_recipe(recipe);
  return Settings::load(Environment::of_process(), flags, found);
}

std::size_t index_of(const std::string& key) {
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (kSettings[i].key == key) return i;
  throw py::key_error("there is no setting '" + key + "'");
}

// Durations in seconds.
py::object value_of(const Settings& settings, const std::string& key) {
  const Settings::Entry& entry = settings.entries()[index_of(key)];
  return std::visit(
      [&](const auto& value) -> py::object {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::chrono::nanoseconds>)
          return py::cast(Seconds(value).count());
        else if constexpr (std::is_same_v<Value, StepWindow>)
          return py::cast(entry.text);
        else
          return py::cast(value);
      },
      entry.value);
}

Texts texts_of(const Settings& settings) {
  Texts all;
  for (std::size_t i = 0; i < kSettings.size(); ++i) all[std::string(kSettings[i].key)] = settings.entries()[i].text;
  return all;
}

train::Schedule schedule_from(const std::string& name, double rate, double warmup, double start, double length,
                              double end, double power, std::vector<double> milestones, double factor, double peak) {
  return {.decline = train::decline_of(name),
          .rate = rate,
          .warmup = warmup,
          .start = start,
          .length = length,
          .end = end,
          .power = power,
          .milestones = std::move(milestones),
          .factor = factor,
          .peak = peak};
}

// --- Checkpoints

train::Checkpoint checkpoint_of(const py::dict& fields) {
  const auto number = [&](const char* key) { return fields[key].cast<std::int64_t>(); };
  return {.info = {.step = number("step"),
                   .epoch = number("epoch"),
                   .samples = number("samples"),
                   .seed = fields["seed"].cast<std::uint64_t>(),
                   .ranks = fields["ranks"].cast<int>(),
                   .settings = fields["settings"].cast<Texts>(),
                   .extra = fields["extra"].cast<Texts>()},
          .model = fields["model"].cast<train::TensorMap>(),
          .optimizer = fields["optimizer"].cast<train::TensorMap>()};
}

py::dict fields_of(train::Checkpoint checkpoint) {
  using namespace py::literals;
  return py::dict("step"_a = checkpoint.info.step, "epoch"_a = checkpoint.info.epoch,
                  "samples"_a = checkpoint.info.samples, "seed"_a = checkpoint.info.seed,
                  "ranks"_a = checkpoint.info.ranks, "settings"_a = std::move(checkpoint.info.settings),
                  "extra"_a = std::move(checkpoint.info.extra), "model"_a = std::move(checkpoint.model),
                  "optimizer"_a = std::move(checkpoint.optimizer));
}

// Newest first; those that cannot be read are passed over.
std::optional<std::pair<fs::path, py::dict>> newest(const fs::path& folder, const py::object& warn) {
  std::vector<std::string> warnings;
  std::optional<fs::path> path;
  std::optional<train::Checkpoint> found;
  {
    const py::gil_scoped_release unlocked;
    const auto hear = [&](const std::string& text) { warnings.push_back(text); };
    found = train::load_newest_checkpoint(folder, hear);
    if (found) path = folder / train::checkpoint_name(found->info.step);
  }
  for (const std::string& text : warnings) warn(text);
  if (!found) return {};
  return std::pair(*path, fields_of(std::move(*found)));
}

// Why a training with these settings must not go on from there (a table, or nothing), and what differs that may.
std::pair<std::string, std::string> differences(const fs::path& checkpoint, const Settings& settings, int ranks) {
  const train::CheckpointInfo info = train::read_manifest(checkpoint).info;
  const train::Differences found = train::differences_of({.settings = info.settings, .ranks = info.ranks},
                                                         {.settings = texts_of(settings), .ranks = ranks});
  return {found.refused.empty() ? "" : train::refusal(checkpoint.string(), found), train::in_one_line(found.told)};
}

class Writer {
 public:
  Writer(const fs::path& folder, int keep, bool background)
      : writer_({.checkpoint = {.folder = folder, .keep = keep}, .background = background}) {}

  void save(const py::dict& fields) {
    const train::Checkpoint checkpoint = checkpoint_of(fields);
    const py::gil_scoped_release unlocked;
    writer_.save(checkpoint);
  }
  std::optional<std::string> wait() {
    const py::gil_scoped_release unlocked;
    writer_.wait();
    return take_error();
  }
  std::optional<std::string> take_error() {
    const auto error = writer_.take_error();
    return error ? std::optional<std::string>(error->what()) : std::nullopt;
  }
  bool busy() const { return writer_.busy(); }
  std::optional<fs::path> newest() const { return writer_.newest(); }
  double seconds() const {
    const auto cost = writer_.cost();
    return cost ? Seconds(cost->total).count() : 0;
  }

 private:
  train::CheckpointWriter writer_;
};

void add_checkpoints(py::module_& part) {
  py::class_<Writer>(part, "CheckpointWriter")
      .def(py::init<const fs::path&, int, bool>())
      .def("save", &Writer::save)
      .def("wait", &Writer::wait)
      .def("take_error", &Writer::take_error)
      .def("busy", &Writer::busy)
      .def("newest", &Writer::newest)
      .def("seconds", &Writer::seconds);
  part.def("newest_checkpoint", &newest);
  part.def("load_checkpoint", [](const fs::path& path) {
    auto [folder, checkpoint] = [&] {
      const py::gil_scoped_release unlocked;
      const fs::path found = train::find_checkpoint(path);
      return std::pair(found, train::load_checkpoint(found));
    }();
    return std::pair(folder, fields_of(std::move(checkpoint)));
  });
  part.def("differences", &differences);
  part.attr("GIVEN_SETTINGS") = train::kGivenSettings;
}

// --- Logs

class Logs {
 public:
  Logs(const fs::path& folder, std::optional<std::int64_t> resumed_step)
      : log_(folder / "log.jsonl", resumed_step), board_(folder / "tensorboard", resumed_step) {}

  // Numbers alone go to TensorBoard, by "NAME/KIND".
  std::optional<std::string> write(std::int64_t step, const std::string& kind, const py::dict& values) {
    std::vector<train::Metric> metrics = {{"kind", kind}};
    std::vector<train::Scalar> scalars;
    for (const auto& [key, value] : values) {
      const auto name = key.cast<std::string>();
      if (py::isinstance<py::str>(value)) {
        metrics.emplace_back(name, value.cast<std::string>());
      } else if (py::isinstance<py::int_>(value) && !py::isinstance<py::bool_>(value)) {
        metrics.emplace_back(name, value.cast<std::int64_t>());
      } else {
        metrics.emplace_back(name, value.cast<double>());
        scalars.push_back({name + "/" + kind, value.cast<double>()});
      }
    }
    log_.write(step, metrics);
    if (!scalars.empty()) board_.write(step, scalars);
    const std::optional<Error>& error = log_.error() ? log_.error() : board_.error();
    return error ? std::optional<std::string>(error->what()) : std::nullopt;
  }

 private:
  train::MetricsLog log_;
  train::TensorBoardWriter board_;
};

// --- Time

class Deadline {
 public:
  Deadline(const std::string& deadline, std::int64_t job_deadline)
      : limit_(monotonic_now(), train::time_left({.deadline = deadline, .job_deadline = job_deadline},
                                                 std::chrono::system_clock::now())) {}

  void step_ended() { limit_.step_ended(monotonic_now()); }
  void other_work_ended() { limit_.other_work_ended(monotonic_now()); }
  bool over(double checkpoint, double evaluation) const {
    return limit_.over(monotonic_now(),
                       {.checkpoint = nanoseconds_of(checkpoint), .evaluation = nanoseconds_of(evaluation)});
  }
  std::optional<double> left() const {
    const auto left = limit_.left(monotonic_now());
    return left ? std::optional(Seconds(*left).count()) : std::nullopt;
  }

 private:
  train::TimeLimit limit_;
};

// Signals are kept for the program to look at from begin() to end().
class Signals {
 public:
  void begin() { kept_.emplace(); }
  void end() { kept_.reset(); }
  std::optional<std::string> asked() const {
    if (!kept_) return {};
    return kept_->asked() ? "SIGINT" : kept_->asked_to_leave();
  }

 private:
  std::optional<train::Interrupt> kept_;
};

void add_time(py::module_& part) {
  py::class_<Deadline>(part, "Deadline")
      .def(py::init<const std::string&, std::int64_t>())
      .def("step_ended", &Deadline::step_ended)
      .def("other_work_ended", &Deadline::other_work_ended)
      .def("over", &Deadline::over)
      .def("left", &Deadline::left);
  py::class_<Signals>(part, "Signals")
      .def(py::init<>())
      .def("begin", &Signals::begin)
      .def("end", &Signals::end)
      .def("asked", &Signals::asked);
  part.attr("TO_BE_CONTINUED") = train::kToBeContinuedExit;
  part.attr("INTERRUPTED") = train::kInterruptedExit;
}

}  // namespace

void add_train(py::module_& module) {
  py::module_ part = module.def_submodule("train", "What ronde.train uses.");
  py::class_<Settings>(part, "Settings")
      .def(py::init(&settings_of))
      .def("__getitem__", &value_of)
      .def("texts", &texts_of)
      .def("given", &train::given_settings)
      .def("output", &train::output_folder)
      .def("schedule", [](const Settings& settings, std::int64_t steps_per_epoch) {
        return train::schedule_of(train::training_options(settings), steps_per_epoch);
      });
  py::class_<train::Schedule>(part, "Schedule").def(py::init(&schedule_from)).def("at", &train::Schedule::at);
  part.def("every", [](const std::string& text) {
    const train::Every every = train::parse_every(text);
    return std::tuple(every.steps, Seconds(every.time).count(), every.automatic);
  });
  add_checkpoints(part);
  py::class_<Logs>(part, "Logs")
      .def(py::init<const fs::path&, std::optional<std::int64_t>>())
      .def("write", &Logs::write);
  add_time(part);
  py::class_<train::NoiseScale>(part, "NoiseScale")
      .def(py::init<>())
      .def("add",
           [](train::NoiseScale& self, double small, double inverse, double parts, double big, double batch) {
             self.add({.small = small, .inverse = inverse, .parts = parts, .big = big}, batch);
           })
      .def("value", &train::NoiseScale::value);
}

}  // namespace ronde::python
