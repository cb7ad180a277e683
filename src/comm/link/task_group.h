#pragma once

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <utility>

#include "ronde/comm/link/task.h"

namespace ronde::comm::detail {

// Tasks that go on side by side. Others may be added while they run.
//
//   TaskGroup tasks;
//   tasks.add(receive(...));
//   tasks.add(send(...));
//   co_await tasks.run();
class TaskGroup {
 public:
  // Returns whether it is done, to be looked at later.
  std::shared_ptr<const bool> add(Task task) {
    runners_.push_back({std::move(task), std::make_shared<bool>(false)});
    return runners_.back().done;
  }

  // Until all are done. FAILS WITH: what the first one to fail fails with.
  Task run() {
    for (;;) {
      while (can_advance()) advance();
      if (runners_.empty()) co_return;
      co_await until([this] { return can_advance(); });
    }
  }

 private:
  struct Runner {
    Task task;
    std::shared_ptr<bool> done;
  };

  bool can_advance() const {
    return std::ranges::any_of(runners_, [](const Runner& one) { return one.task.can_advance(); });
  }
  void advance() {
    for (auto one = runners_.begin(); one != runners_.end();) {  // a list: others may be added on the way
      *one->done = one->task.can_advance() && one->task.advance();
      one = *one->done ? runners_.erase(one) : std::next(one);
    }
  }

  std::list<Runner> runners_;
};

}  // namespace ronde::comm::detail
