#include "ronde/comm/support/close_on_fork.h"

#include <algorithm>
#include <vector>

#include <fcntl.h>
#include <pthread.h>

#include "ronde/base/system/mutex.h"

namespace ronde::comm::support {
namespace {

// fork() is the process's, and so is what is to be done then: this is the one list there can be.
struct Registry {
  Mutex mutex;
  std::vector<int> descriptors RONDE_GUARDED_BY(mutex);
};

Registry& registry() {
  static auto* one = new Registry;  // never destroyed: a process may fork while it ends
  return *one;
}

// Nobody changes the list while the process forks.
void before_fork() RONDE_ACQUIRE(registry().mutex) {
  registry().mutex.lock();
}

void after_fork() {
  registry().mutex.assert_held();  // by before_fork()
  registry().mutex.unlock();
}

// The child may only call what is safe in a signal handler: nothing here allocates or frees.
void in_child() {
  Registry& all = registry();
  all.mutex.assert_held();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : all.descriptors) {
    if (nothing < 0 || ::dup3(nothing, descriptor, O_CLOEXEC) < 0) ::close(descriptor);
  }
  if (nothing >= 0) ::close(nothing);
  all.descriptors.clear();
  all.mutex.unlock();
}

void register_handlers() {
  static const int done = pthread_atfork(before_fork, after_fork, in_child);
  (void)done;  // out of memory: a child keeps what it would keep anyhow
}

}  // namespace

CloseOnFork::CloseOnFork(int descriptor) : descriptor_(descriptor) {
  if (descriptor < 0) return;
  register_handlers();
  const Lock lock(registry().mutex);
  registry().descriptors.push_back(descriptor);
}

void CloseOnFork::end() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0) return;
  const Lock lock(registry().mutex);
  auto& all = registry().descriptors;
  if (const auto found = std::ranges::find(all, descriptor); found != all.end()) {
    *found = all.back();
    all.pop_back();
  }
}

}  // namespace ronde::comm::support
