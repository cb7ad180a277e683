#include "trace_target.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <unistd.h>

#include "data_parts.h"
#include "kept.h"
#include "ronde/base/error.h"
#include "ronde/trace/span.h"
#include "state.h"

namespace ronde::python {
namespace {

constexpr std::size_t kMostNames = 4096;  // texts that are made anew at each call are not worth keeping

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string thread_name() {
  const py::object thread = py::module_::import("threading").attr("current_thread")();
  return fmt::format("python {}", py::str(thread.attr("name")).cast<std::string>());
}

class Watch final : public SessionUser {
 public:
  void session_ends() override { TraceTarget::of_process().forget(); }
};

}  // namespace

// Lives in the thread. Where the recorder went first, the scope must not touch it: it is left behind.
struct TraceTarget::Thread {
  std::unique_ptr<trace::Scope> scope;
  trace::detail::ThreadLog** log = nullptr;  // this thread's, for whoever ends the recorder

  ~Thread() {
    if (!scope) return;
    TraceTarget& target = of_process();
    const Lock lock(target.mutex_);
    if (target.threads_.erase(this) == 0) static_cast<void>(scope.release());
    scope.reset();
  }
  static Thread& of_this_thread() {
    static thread_local Thread thread;
    return thread;
  }
};

struct TraceTarget::Names {
  std::unordered_map<PyObject*, std::pair<Kept, trace::Name>> by_object;
};

TraceTarget::TraceTarget() : names_(std::make_unique<Names>()) {}

TraceTarget& TraceTarget::of_process() {
  static auto* const target = new TraceTarget;  // as long as the process, like State
  return *target;
}

trace::Recorder* TraceTarget::recorder() const {
  if (own_) return own_.get();
  const State& state = State::of_process();
  return state.running() ? state.session().recorder() : nullptr;
}

bool TraceTarget::attach_thread() {
  if (trace::detail::current_log) return true;
  trace::Recorder* const found = recorder();
  if (!found) return false;
  Thread& thread = Thread::of_this_thread();
  bool first = false;
  {
    const Lock lock(mutex_);
    first = threads_.empty();
  }
  const std::string name = own_ && first ? "training" : thread_name();  // asks Python: not with the mutex held
  const Lock lock(mutex_);
  static_cast<void>(thread.scope.release());  // of a recorder that has gone
  thread.scope = std::make_unique<trace::Scope>(*found, name);
  thread.log = &trace::detail::current_log;
  threads_.insert(&thread);
  watch_session();
  return true;
}

void TraceTarget::watch_session() {
  static auto* const watch = new Watch;  // as long as the process, like State
  if (!own_) State::of_process().add_user(watch);
}

void TraceTarget::begin(trace::RecorderOptions options) {
  if (recorder()) throw Error::bad_input("a trace is already being recorded to {}", recorder()->file().string());
  names_->by_object.clear();
  options.host = host_name();
  own_ = std::make_unique<trace::Recorder>(std::move(options));
  attach_thread();
}

void TraceTarget::end() {
  if (!own_) return;
  forget();
  std::unique_ptr<trace::Recorder> ending = std::move(own_);
  const py::gil_scoped_release unlocked;
  ending.reset();  // writes what is left
}

void TraceTarget::forget() {
  close_recorded_pipelines();
  {
    const Lock lock(mutex_);
    for (Thread* const thread : std::exchange(threads_, {})) *thread->log = nullptr;
  }
  names_->by_object.clear();
}

trace::Name TraceTarget::name(void* python_text) {
  auto* const text = static_cast<PyObject*>(python_text);
  auto& known = names_->by_object;
  if (const auto found = known.find(text); found != known.end()) return found->second.second;
  Py_ssize_t length = 0;
  const char* const letters = PyUnicode_AsUTF8AndSize(text, &length);
  if (!letters) throw py::error_already_set();
  const trace::Name kept = recorder()->intern({letters, static_cast<std::size_t>(length)});
  if (known.empty()) watch_session();  // the names go with their recorder
  if (known.size() < kMostNames) known.emplace(text, std::pair(keep(py::reinterpret_borrow<py::object>(text)), kept));
  return kept;
}

}  // namespace ronde::python
