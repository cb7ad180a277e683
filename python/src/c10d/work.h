#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/comm/group.h"
#include "transfer.h"

namespace ronde::python::c10d_backend {

// As torch's programs know errors: ValueError for wrong arguments, otherwise DistBackendError. Keeps the text.
[[noreturn]] void throw_as_torch(const Error& error);

class Travelling;

// Threads that complete the futures of calls: nobody waits in the engine for them, and their callbacks may take long,
// make calls themselves, and wait for the futures of these. One thread watches; when it completes a future while there
// are others, another one takes over. Calls whose future nobody has asked for do not come here.
class Completions {
 public:
  Completions() = default;
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  void push(std::shared_ptr<Travelling> call);
  // Ends the threads, when all calls here have ended.
  void stop();

 private:
  void run();
  void hand_over() RONDE_REQUIRES(mutex_);
  bool can_watch() const RONDE_REQUIRES(mutex_) { return !watched_ && !calls_.empty(); }
  std::shared_ptr<Travelling> best_to_watch() const RONDE_REQUIRES(mutex_);
  bool another_is_done(const Travelling& than);

  mutable Mutex mutex_;
  Condition changed_;
  // In the order of their submission, mostly that in which they end.
  std::deque<std::shared_ptr<Travelling>> calls_ RONDE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ RONDE_GUARDED_BY(mutex_);
  int idle_ RONDE_GUARDED_BY(mutex_) = 0;  // or about to be
  bool watched_ RONDE_GUARDED_BY(mutex_) = false, stopped_ RONDE_GUARDED_BY(mutex_) = false;
};

// A call on its way: its requests, the tensors that they use, and what is left to do when they are done, which whoever
// asks first does. Safe to call from any thread, without Python's lock.
class Travelling : public std::enable_shared_from_this<Travelling> {
 public:
  Travelling(Transfer transfer, std::string title, std::shared_ptr<Completions> completions);

  // Hands the requests to the engine. Once. FAILS WITH: as Group::submit().
  void start(const comm::Group& group);

  // Whether it has succeeded or failed; what was left to do is then done.
  bool done();
  // Waits. FAILS WITH: Timeout when `limit` is over; an exception of Python's when a signal interrupts.
  void wait(std::optional<std::chrono::nanoseconds> limit);
  // Waits too, whatever comes of it, or until `enough`, which is asked some 20 times a second.
  void wait_until(const std::function<bool()>& enough);
  // After done(): what came of it; none: it has succeeded.
  std::exception_ptr exception();

  c10::intrusive_ptr<c10::ivalue::Future> future();
  void complete_future();  // after done()
  bool ready() const;      // done() would be true

  const std::vector<at::Tensor>& results() const { return transfer_.results; }

 private:
  void finish();

  Transfer transfer_;
  const std::string title_;
  const std::shared_ptr<Completions> completions_;
  std::vector<comm::Handle> handles_;

  Mutex mutex_;
  bool finished_ RONDE_GUARDED_BY(mutex_) = false;
  std::exception_ptr exception_ RONDE_GUARDED_BY(mutex_);

  Mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_ RONDE_GUARDED_BY(future_mutex_);
};

// Calls that the program has let go of before they were done: their tensors stay until they are.
class Abandoned {
 public:
  void keep(std::shared_ptr<Travelling> call);
  void sweep();

 private:
  std::atomic<bool> any_ = false;
  Mutex mutex_;
  std::vector<std::shared_ptr<Travelling>> calls_ RONDE_GUARDED_BY(mutex_);
};

// What torch.distributed knows of a call.
class Work final : public ::c10d::Work {
 public:
  Work(int rank, ::c10d::OpType type, const char* title, std::uint64_t sequence, std::shared_ptr<Travelling> call,
       std::shared_ptr<Abandoned> abandoned, std::optional<std::chrono::nanoseconds> limit);
  ~Work() override;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override { return source_; }
  std::vector<at::Tensor> result() override { return call_->results(); }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return call_->future(); }
  std::uint64_t getSequencenumber() const override { return sequence_; }

  void set_source(int member) { source_ = member; }

 private:
  const std::uint64_t sequence_;
  const std::shared_ptr<Travelling> call_;
  const std::shared_ptr<Abandoned> abandoned_;
  const std::optional<std::chrono::nanoseconds> limit_;
  int source_ = -1;
};

}  // namespace ronde::python::c10d_backend
