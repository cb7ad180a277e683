#include "work.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/thread.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/interruptible.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::python::c10d_backend {
namespace {

// Ctrl-C, and every other signal whose handler raises something, ends a wait of the main thread.
void check_signals() {
  if (!Py_IsInitialized()) return;
  const pybind11::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return;
  python_error interrupted;
  interrupted.persist();
  throw interrupted;
}

std::vector<c10::Device> devices_of(const std::vector<at::Tensor>& tensors) {
  std::vector<c10::Device> devices;
  for (const at::Tensor& one : tensors)
    if (one.is_cuda() && std::ranges::find(devices, one.device()) == devices.end()) devices.push_back(one.device());
  return devices;
}

}  // namespace

void throw_as_torch(const Error& error) {
  if (error.kind() == Error::Kind::BadInput) C10_THROW_ERROR(ValueError, error.what());
  C10_THROW_ERROR(DistBackendError, error.what());
}

// --- Completions
// ------------------------------------------------------------------------------------------------------

Completions::~Completions() {
  stop();
}

void Completions::push(std::shared_ptr<Travelling> call) {
  const Lock lock(mutex_);
  if (stopped_) throw Error::bad_input("the process group has been destroyed");
  calls_.push_back(std::move(call));
  if (!watched_) hand_over();
}

void Completions::hand_over() {
  if (idle_ > 0) return changed_.notify_one();
  ++idle_;
  threads_.emplace_back([this] { run(); });
}

void Completions::stop() {
  Lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
  while (!threads_.empty()) {
    std::thread thread = std::move(threads_.back());
    threads_.pop_back();
    lock.unlock();
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();  // a callback ends the job
    else
      thread.join();
    lock.lock();
  }
}

// One that is done, if there is one.
std::shared_ptr<Travelling> Completions::best_to_watch() const {
  const auto done = std::ranges::find_if(calls_, [](const auto& one) { return one->ready(); });
  return done == calls_.end() ? calls_.front() : *done;
}

bool Completions::another_is_done(const Travelling& than) {
  const Lock lock(mutex_);
  return std::ranges::any_of(calls_, [&](const auto& one) { return one.get() != &than && one->ready(); });
}

void Completions::run() {
  name_this_thread("ronde futures");
  Lock lock(mutex_);
  for (;; ++idle_) {
    changed_.wait(lock, [this]() RONDE_REQUIRES(mutex_) { return can_watch() || (stopped_ && calls_.empty()); });
    --idle_;
    if (!can_watch()) return;
    watched_ = true;
    std::shared_ptr<Travelling> call = best_to_watch();
    lock.unlock();
    call->wait_until([&] { return another_is_done(*call); });
    const bool done = call->ready();
    lock.lock();
    watched_ = false;
    if (!done) continue;
    std::erase(calls_, call);
    if (!calls_.empty()) hand_over();
    lock.unlock();
    call->complete_future();
    call.reset();
    lock.lock();
  }
}

// --- Travelling
// -------------------------------------------------------------------------------------------------------

Travelling::Travelling(Transfer transfer, std::string title, std::shared_ptr<Completions> completions)
    : transfer_(std::move(transfer)), title_(std::move(title)), completions_(std::move(completions)) {}

void Travelling::start(const comm::Group& group) {
  handles_ = group.submit(std::move(transfer_.requests));
}

bool Travelling::ready() const {
  return std::ranges::all_of(handles_, [](const comm::Handle& handle) { return handle.poll(); });
}

bool Travelling::done() {
  {
    const Lock lock(mutex_);
    if (finished_) return true;
  }
  if (!ready()) return false;
  finish();
  return true;
}

// What was left to do is done once, by the first who comes here.
void Travelling::finish() {
  const Lock lock(mutex_);
  if (finished_) return;
  try {
    // The stream in which the caller uses a result is that in which it asks for it.
    CUstream_st* const stream = transfer_.keeps.empty() ? nullptr : parallel::stream_of(transfer_.keeps.front());
    for (const comm::Handle& handle : handles_) handle.wait(stream);
    const at::NoGradGuard no_grad;
    for (const Transfer::Ending& ending : transfer_.endings)
      ending.finish(Transfer::Handles(handles_).subspan(ending.first));
  } catch (...) {
    exception_ = std::current_exception();
  }
  finished_ = true;
  transfer_.endings.clear();
}

void Travelling::wait(std::optional<std::chrono::nanoseconds> limit) {
  if (!done()) {
    const Deadline until = limit ? Deadline::after(*limit) : Deadline();
    const comm::Interruptible interruptible([&] {
      check_signals();
      if (until.passed())
        throw Error(Error::Kind::Timeout,
                    fmt::format("{}: not complete after {}: some rank of the group has not called it, or is slow; "
                                "comm.stall_warn says who is missing",
                                title_, format_duration(*limit)));
    });
    for (const comm::Handle& handle : handles_) {
      try {
        handle.wait();
      } catch (const Error&) {
        if (!handle.poll()) throw;  // not the request's: the limit
      }
    }
    finish();
  }
  if (const auto thrown = exception()) std::rethrow_exception(thrown);
  // The stream of this caller waits too; it may be another one.
  if (!transfer_.keeps.empty() && transfer_.keeps.front().is_cuda())
    for (const comm::Handle& handle : handles_) handle.wait(parallel::stream_of(transfer_.keeps.front()));
}

void Travelling::wait_until(const std::function<bool()>& enough) {
  struct Enough {};
  const comm::Interruptible interruptible([&] {
    if (enough()) throw Enough();
  });
  try {
    for (const comm::Handle& handle : handles_) {
      try {
        handle.wait();
      } catch (const Error&) {  // the others may still use their memory
      }
    }
  } catch (const Enough&) {
  }
}

std::exception_ptr Travelling::exception() {
  const Lock lock(mutex_);
  return exception_;
}

c10::intrusive_ptr<c10::ivalue::Future> Travelling::future() {
  const Lock lock(future_mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                     devices_of(transfer_.results));
  completions_->push(shared_from_this());
  return future_;
}

void Travelling::complete_future() {
  done();
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const Lock lock(future_mutex_);
    future = future_;
  }
  if (const auto thrown = exception()) {
    try {
      try {
        std::rethrow_exception(thrown);
      } catch (const Error& error) {
        throw_as_torch(error);
      }
    } catch (...) {
      future->setError(std::current_exception());
    }
    return;
  }
  try {
    future->markCompleted(c10::IValue(transfer_.results));
  } catch (const std::exception&) {  // of a callback: nobody is there to hear it, as with torch's own backends
  }
}

// --- Abandoned
// --------------------------------------------------------------------------------------------------------

void Abandoned::keep(std::shared_ptr<Travelling> call) {
  const Lock lock(mutex_);
  calls_.push_back(std::move(call));
  any_.store(true, std::memory_order_relaxed);
}

void Abandoned::sweep() {
  if (!any_.load(std::memory_order_relaxed)) return;
  std::vector<std::shared_ptr<Travelling>> done;  // let go of without the lock
  const Lock lock(mutex_);
  const auto pending =
      std::stable_partition(calls_.begin(), calls_.end(), [](const auto& one) { return !one->done(); });
  std::move(pending, calls_.end(), std::back_inserter(done));
  calls_.erase(pending, calls_.end());
  any_.store(!calls_.empty(), std::memory_order_relaxed);
}

// --- Work
// -------------------------------------------------------------------------------------------------------------

Work::Work(int rank, ::c10d::OpType type, const char* title, std::uint64_t sequence, std::shared_ptr<Travelling> call,
           std::shared_ptr<Abandoned> abandoned, std::optional<std::chrono::nanoseconds> limit)
    : ::c10d::Work(rank, type, title),
      sequence_(sequence),
      call_(std::move(call)),
      abandoned_(std::move(abandoned)),
      limit_(limit) {}

Work::~Work() {
  if (!call_->done()) abandoned_->keep(call_);
}

bool Work::isCompleted() {
  return call_->done();
}

bool Work::isSuccess() const {
  return call_->done() && !call_->exception();
}

std::exception_ptr Work::exception() const {
  return call_->done() ? call_->exception() : nullptr;
}

bool Work::wait(std::chrono::milliseconds timeout) {
  try {
    call_->wait(timeout == kNoTimeout ? limit_ : std::optional<std::chrono::nanoseconds>(timeout));
  } catch (const Error& error) {
    if (recordFunctionEndCallback_) recordFunctionEndCallback_();
    recordFunctionEndCallback_ = nullptr;
    throw_as_torch(error);
  }
  if (recordFunctionEndCallback_) recordFunctionEndCallback_();
  recordFunctionEndCallback_ = nullptr;
  return true;
}

}  // namespace ronde::python::c10d_backend
