#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

namespace ronde::comm::detail {

// What a resumable piece of work waits for: a counter that another rank, or another thread, raises; or, rarely,
// anything that can be asked. A root task and the tasks inside it share one, since only the innermost can be waiting.
struct Waiting {
  std::coroutine_handle<> innermost = {};
  const std::atomic<std::uint64_t>* counter = nullptr;
  std::uint64_t value = 0;
  bool (*ask)(const void*) = nullptr;
  const void* whom = nullptr;

  bool over() const {
    if (counter) return counter->load(std::memory_order_acquire) >= value;
    return !ask || ask(whom);
  }
};

// A collective that never blocks: a coroutine that stops wherever it would have to wait, and goes on in advance().
// So one thread can carry many of them at once, and two groups that share ranks cannot wait for each other in a circle.
//
//   Task copy(...) { ...; co_await reaches(peer.filled, chunk + 1); ...; co_await other_task(...); }
//   Task task = copy(...);
//   while (!task.advance()) sleep_until_rung();
//
// Not thread-safe: whoever owns it calls advance(). Destroying it abandons the work where it stands.
// The coroutine's arguments must be values or outlive the task.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Goes as far as possible without waiting. True when the work is done; from then on it must not be called again.
  // FAILS WITH: what the work fails with.
  bool advance();

  // Would advance() do anything? Cheap enough to ask in a loop.
  bool can_advance() const;

  explicit operator bool() const { return static_cast<bool>(handle_); }

  // co_await task: the work of `task` becomes part of this one.
  auto operator co_await() && noexcept;

 private:
  Handle handle_ = {};
};

struct Task::promise_type {
  Waiting own;              // used by a root
  Waiting* waiting = &own;  // the root's
  std::coroutine_handle<> outer = std::noop_coroutine();
  std::exception_ptr failure = {};

  Task get_return_object() { return Task(Handle::from_promise(*this)); }
  std::suspend_always initial_suspend() noexcept {
    own.innermost = Handle::from_promise(*this);
    return {};
  }
  auto final_suspend() noexcept {
    struct Return {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle done) noexcept { return done.promise().outer; }
      void await_resume() noexcept {}
    };
    return Return{};
  }
  void return_void() {}
  void unhandled_exception() { failure = std::current_exception(); }
};

// Waits until `counter` is at least `value`. The counter must outlive the wait.
class reaches {
 public:
  reaches(const std::atomic<std::uint64_t>& counter, std::uint64_t value) : counter_(counter), value_(value) {}
  bool await_ready() const noexcept { return counter_.load(std::memory_order_acquire) >= value_; }
  void await_suspend(Task::Handle here) const noexcept {
    *here.promise().waiting = {
        .innermost = here, .counter = &counter_, .value = value_, .ask = nullptr, .whom = nullptr};
  }
  void await_resume() const noexcept {}

 private:
  const std::atomic<std::uint64_t>& counter_;
  const std::uint64_t value_;
};

// Waits until `condition()` is true; it is asked again and again, so it must be quick.
template <class Condition>
class until {
 public:
  explicit until(Condition condition) : condition_(std::move(condition)) {}
  bool await_ready() const { return condition_(); }
  void await_suspend(Task::Handle here) const noexcept {
    *here.promise().waiting = {.innermost = here,
                               .counter = nullptr,
                               .value = 0,
                               .ask = [](const void* self) { return static_cast<const until*>(self)->condition_(); },
                               .whom = this};
  }
  void await_resume() const noexcept {}

 private:
  Condition condition_;
};

inline auto Task::operator co_await() && noexcept {
  struct Inner {
    Handle handle;
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle outer) noexcept {
      handle.promise().outer = outer;
      handle.promise().waiting = outer.promise().waiting;
      return handle;
    }
    void await_resume() {
      if (handle.promise().failure) std::rethrow_exception(handle.promise().failure);
    }
  };
  return Inner{handle_};
}

inline bool Task::can_advance() const {
  return handle_.promise().own.over();
}

inline bool Task::advance() {
  auto& root = handle_.promise();
  while (!handle_.done() && root.own.over()) {
    root.own.counter = nullptr;
    root.own.ask = nullptr;
    root.own.innermost.resume();
  }
  if (handle_.done() && root.failure) std::rethrow_exception(root.failure);
  return handle_.done();
}

}  // namespace ronde::comm::detail
