// A mutex whose use the compiler checks, where the compiler is clang: `./ronde-dev locks` compiles every source with
// -Wthread-safety. With other compilers the annotations are empty, and a Mutex is a std::mutex.
//
//   class Mailbox {
//    public:
//     void put(Letter letter) {
//       const Lock lock(mutex_);
//       letters_.push_back(std::move(letter));
//       filled_.notify_one();
//     }
//     Letter take() {
//       Lock lock(mutex_);
//       filled_.wait(lock, [this]() RONDE_REQUIRES(mutex_) { return !letters_.empty(); });
//       ...
//     }
//
//    private:
//     Mutex mutex_;
//     Condition filled_;
//     std::vector<Letter> letters_ RONDE_GUARDED_BY(mutex_);
//   };
//
// Waits that a stop token ends: std::condition_variable_any takes a Lock.
// Any other lambda that runs with the mutex held says so in its first line, mutex_.assert_held(): whoever calls it
// knows nothing of the mutex.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define RONDE_ANNOTATE(x) __attribute__((x))
#else
#define RONDE_ANNOTATE(x)
#endif

#define RONDE_GUARDED_BY(mutex) RONDE_ANNOTATE(guarded_by(mutex))             // a member: touched with the mutex held
#define RONDE_REQUIRES(...) RONDE_ANNOTATE(requires_capability(__VA_ARGS__))  // a function: called with the mutex held
#define RONDE_ACQUIRE(...) RONDE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define RONDE_RELEASE(...) RONDE_ANNOTATE(release_capability(__VA_ARGS__))
#define RONDE_TRY_ACQUIRE(...) RONDE_ANNOTATE(try_acquire_capability(__VA_ARGS__))
#define RONDE_RETURN_CAPABILITY(mutex) RONDE_ANNOTATE(lock_returned(mutex))
// A function that the analysis cannot follow. A comment beside it says why it is right.
#define RONDE_LOCKS_UNCHECKED RONDE_ANNOTATE(no_thread_safety_analysis)

namespace ronde {

class RONDE_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() RONDE_ACQUIRE() { mutex_.lock(); }
  void unlock() RONDE_RELEASE() { mutex_.unlock(); }
  bool try_lock() RONDE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // Does nothing: from here on the analysis takes the mutex for held.
  void assert_held() const RONDE_ANNOTATE(assert_capability(this)) {}

 private:
  friend class Lock;
  std::mutex mutex_;
};

// Holds a Mutex while it lives; may be unlocked and locked between, as condition variables do.
class RONDE_ANNOTATE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) RONDE_ACQUIRE(mutex) : held_(mutex.mutex_) {}
  ~Lock() RONDE_RELEASE() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() RONDE_ACQUIRE() { held_.lock(); }
  void unlock() RONDE_RELEASE() { held_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> held_;
};

// A std::condition_variable for a Lock. The analysis does not look into waits: a mutex is held after one as before it.
class Condition {
 public:
  template <class Ready>
  void wait(Lock& lock, Ready ready) {
    changed_.wait(lock.held_, ready);
  }
  // Whether it is ready; false: the time has come before.
  template <class Time, class Ready>
  bool wait_until(Lock& lock, const Time& until, Ready ready) {
    return changed_.wait_until(lock.held_, until, ready);
  }
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace ronde
