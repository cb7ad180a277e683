#include "ronde/train/session.h"

#include <exception>
#include <optional>
#include <utility>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/device/device.h"
#include "ronde/parallel/store_bootstrap.h"
#include "ronde/trace/settings.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/gpu/gpu_trace.h"
#include "ronde/train/registry.h"

namespace ronde {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::unique_ptr<trace::Recorder> recorder_for(const Settings& settings, int rank, int size) {
  auto options = trace::options_from(settings);
  if (!options) return nullptr;
  options->rank = rank;
  options->world_size = size;
  options->host = host_name();
  return std::make_unique<trace::Recorder>(std::move(*options));
}

std::unique_ptr<comm::Engine> make_engine(std::unique_ptr<comm::Bootstrap> bootstrap, comm::EngineOptions options) {
  return std::make_unique<comm::Engine>(std::move(bootstrap), std::move(options));
}

}  // namespace

struct Session::Impl {
  explicit Impl(const Settings& given) : settings(given), asked(train::training_options(given)) {}
  void begin(std::unique_ptr<comm::Bootstrap> bootstrap, comm::EngineOptions options, const MakeEngine& make);
  // The first failure counts: others follow from it.
  void note_failure(const std::string& why) {
    if (recorder && !std::exchange(failed, true)) recorder->set_metadata(trace::kFailure, why);
  }

  const int exceptions = std::uncaught_exceptions();  // on their way when the session began
  bool failed = false;
  const Settings settings;
  const train::TrainingOptions asked;
  std::shared_ptr<const train::Registry> registry = std::make_shared<const train::Registry>();
  std::unique_ptr<trace::Recorder> recorder;
  std::unique_ptr<GpuTrace> gpu_trace;
  std::optional<trace::Scope> scope;  // of the thread that made the session
  std::unique_ptr<comm::Engine> engine;
};

Session::Session() : Session(Settings::load(Environment::of_process(), {})) {}

Session::Session(const Settings& settings) : Session(settings, make_engine) {}

void Session::Impl::begin(std::unique_ptr<comm::Bootstrap> bootstrap, comm::EngineOptions options,
                          const MakeEngine& make) {
  recorder = recorder_for(settings, bootstrap->rank(), bootstrap->size());
  if (recorder) scope.emplace(*recorder, "training");
  options.recorder = recorder.get();
  options.log = Log({.level = asked.log_level});
  if (recorder && asked.trace.gpu && device::count() > 0)
    gpu_trace = GpuTrace::start(*recorder, asked.trace.gpu_steps, options.log);
  try {
    engine = make(std::move(bootstrap), std::move(options));
  } catch (const std::exception& failure) {
    note_failure(failure.what());
    throw;
  }
}

Session::Session(const Settings& settings, const MakeEngine& make) : impl_(std::make_unique<Impl>(settings)) {
  auto options = comm::engine_options(settings);
  auto bootstrap = parallel::bootstrap_from(Environment::of_process(), Deadline::after(options.start_timeout));
  impl_->begin(std::move(bootstrap), std::move(options), make);
}

Session::Session(const Settings& settings, std::shared_ptr<const train::Registry> registry) : Session(settings) {
  if (registry) impl_->registry = std::move(registry);
}

Session::Session(const Settings& settings, std::unique_ptr<comm::Bootstrap> bootstrap,
                 std::shared_ptr<const train::Registry> registry)
    : impl_(std::make_unique<Impl>(settings)) {
  if (registry) impl_->registry = std::move(registry);
  impl_->begin(std::move(bootstrap), comm::engine_options(settings), make_engine);
}

Session::Session(std::unique_ptr<comm::Engine> engine) : Session(std::move(engine), Settings()) {}

Session::Session(std::unique_ptr<comm::Engine> engine, const Settings& settings,
                 std::shared_ptr<const train::Registry> registry)
    : impl_(std::make_unique<Impl>(settings)) {
  if (registry) impl_->registry = std::move(registry);
  impl_->engine = std::move(engine);
}

// The engine first: its thread records until it ends.
Session::~Session() {
  if (std::uncaught_exceptions() > impl_->exceptions) impl_->note_failure("an exception ended the program's session");
  impl_->engine.reset();
  impl_->scope.reset();
}

int Session::rank() const {
  return impl_->engine->rank();
}
int Session::size() const {
  return impl_->engine->size();
}
int Session::local_rank() const {
  return impl_->engine->local_rank();
}
int Session::local_size() const {
  return impl_->engine->local_size();
}
int Session::node_rank() const {
  return impl_->engine->node();
}

torch::Device Session::device() const {
  const std::string wanted = impl_->asked.device;
  const int gpus = device::count();
  const bool usable = gpus > 0 && torch::cuda::is_available();
  if (wanted == "cuda" && !usable)
    throw Error::bad_input("train.device is cuda, but {}",
                           gpus == 0 ? device::why_none() : "this libtorch was built without CUDA");
  if (wanted == "cpu" || !usable) return torch::kCPU;
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank() % gpus)};
}

comm::Engine& Session::engine() const {
  return *impl_->engine;
}
comm::Group Session::world() const {
  return impl_->engine->world();
}
const Settings& Session::settings() const {
  return impl_->settings;
}
const train::TrainingOptions& Session::options() const {
  return impl_->asked;
}
const train::Registry& Session::registry() const {
  return *impl_->registry;
}
void Session::begin_step(std::int64_t number) const {
  impl_->engine->set_step(number);
  if (impl_->recorder) impl_->recorder->step(number);
  if (impl_->gpu_trace) impl_->gpu_trace->step();
}

trace::Recorder* Session::recorder() const {
  return impl_->recorder.get();
}

void Session::fail(const std::string& why) const {
  impl_->note_failure(why);
  impl_->engine->shutdown(why);
}

}  // namespace ronde
