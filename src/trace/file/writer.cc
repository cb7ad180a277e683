#include "ronde/trace/file/writer.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "ronde/base/system/thread.h"

namespace ronde::trace::detail {
namespace {

constexpr int kRoundMilliseconds = 200;  // what a crash can lose

// While it lives, this thread takes no signals, and neither will a thread that it starts.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Writer::Writer(std::filesystem::path path, Parts parts, const Drain::Options& options, std::function<void()> on_failure)
    : file_(std::move(path)),
      parts_(parts),
      on_failure_(std::move(on_failure)),
      process_(::getpid()),
      drain_(parts.logs, parts.notes, parts.clock, options, [this](std::string_view packets) { append(packets); }) {
  start();
}

Writer::~Writer() {
  if (::getpid() != process_) {
    thread_.detach();
    return;
  }
  thread_.request_stop();
  parts_.wake.ring();
  thread_.join();
}

// Without signals: handlers run on the program's own threads, and a file-size limit becomes a plain error.
void Writer::start() {
  const NoSignals no_signals;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      name_this_thread("ronde-trace");
      write_until(stop);
    });
  } catch (const std::system_error& problem) {
    throw Error::system(problem.code().value(), "cannot start the writer of the trace {}", path().string());
  }
}

void Writer::write_until(const std::stop_token& stop) noexcept {
  while (!stop.stop_requested()) {
    drain_round();
    parts_.wake.sleep(kRoundMilliseconds);
  }
  drain_round();
  parts_.notes.add(Metadata{"dropped_events", std::to_string(parts_.logs.dropped())});
  drain_round();
}

void Writer::drain_round() noexcept {
  Lock lock(mutex_);
  const std::uint64_t asked = flushes_asked_;
  lock.unlock();
  try {
    drain_.run();
  } catch (const std::exception& problem) {  // no memory left: the program may live on, the trace does not
    fail(Error(Error::Kind::System, fmt::format("cannot write the trace {}: {}", path().string(), problem.what())));
  }
  lock.lock();
  flushes_done_ = asked;
  flushed_.notify_all();
}

void Writer::append(std::string_view packets) noexcept {
  if (error()) return;
  try {
    file_.append(packets);
  } catch (const Error& problem) {
    fail(problem);
  }
}

void Writer::fail(const Error& problem) noexcept {
  {
    const Lock lock(mutex_);
    if (error_) return;
    error_ = problem;
  }
  on_failure_();
}

void Writer::flush() {
  if (::getpid() != process_) return;
  Lock lock(mutex_);
  const std::uint64_t mine = ++flushes_asked_;
  parts_.wake.ring();
  flushed_.wait(lock, [&]() RONDE_REQUIRES(mutex_) { return flushes_done_ >= mine; });
}

std::optional<Error> Writer::error() const {
  const Lock lock(mutex_);
  return error_;
}

}  // namespace ronde::trace::detail
