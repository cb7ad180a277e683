#pragma once

#include <functional>

namespace ronde::comm {

// While it lives, its thread's waits for an engine can be interrupted: `check` is called some 20 times a second while
// the thread sleeps there, and what it throws ends the wait. The request goes on, so its memory must stay. The
// innermost of a thread counts.
//
//   Interruptible interruptible([] { if (stop_asked) throw Stopped(); });
//   handle.wait();
class Interruptible {
 public:
  explicit Interruptible(std::function<void()> check);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Of the calling thread; none: nullptr.
  static const std::function<void()>* check();

 private:
  const std::function<void()> check_;
  const Interruptible* const outer_;
};

}  // namespace ronde::comm
