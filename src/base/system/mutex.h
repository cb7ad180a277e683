// A mutex whose use the compiler checks, where the compiler is clang: `./ronde-dev locks` compiles every source with
// -Wthread-safety. With other compilers the annotations are empty, and a Mutex is a std::mutex.
//
//   class Mailbox {
//    public:
//     void put(Letter letter) {
//       const Lock lock(mutex_);
//       letters_.push_back(std::move(letter));
//     }
//
//    private:
//     Mutex mutex_;
//     std::vector<Letter> letters_ RONDE_GUARDED_BY(mutex_);
//   };
//
// Waits: std::condition_variable_any takes a Lock. A predicate that reads guarded members says so:
//   bell_.wait(lock, [this]() RONDE_REQUIRES(mutex_) { return !letters_.empty(); });
#pragma once

#include <mutex>

#if defined(__clang__)
#define RONDE_ANNOTATE(x) __attribute__((x))
#else
#define RONDE_ANNOTATE(x)
#endif

#define RONDE_GUARDED_BY(mutex) RONDE_ANNOTATE(guarded_by(mutex))        // a member: touched with the mutex held
#define RONDE_PT_GUARDED_BY(mutex) RONDE_ANNOTATE(pt_guarded_by(mutex))  // what a pointer points at
#define RONDE_REQUIRES(...) RONDE_ANNOTATE(requires_capability(__VA_ARGS__))  // a function: called with the mutex held
#define RONDE_EXCLUDES(...) RONDE_ANNOTATE(locks_excluded(__VA_ARGS__))       // a function: called without it
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

 private:
  std::mutex mutex_;
};

// Holds a Mutex while it lives; may be unlocked and locked between, as condition variables do.
class RONDE_ANNOTATE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) RONDE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() RONDE_RELEASE() {
    if (held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() RONDE_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() RONDE_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

}  // namespace ronde
