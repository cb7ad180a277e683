#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pending.h"
#include "ronde/base/settings/settings.h"
#include "ronde/comm/group.h"
#include "ronde/train/session.h"

namespace ronde::python {

// What lives by a session, and is told before it ends.
class SessionUser {
 public:
  virtual ~SessionUser() = default;
  virtual void session_ends() = 0;
};

// The one session of this process, which a module-wide interface such as hvd.size() implies, and what belongs to it.
// Python's global lock protects it: call with the lock held. What waits lets go of the lock meanwhile.
class State {
 public:
  static State& of_process();

  bool running() const { return session_ != nullptr; }
  // FAILS WITH: BadInput when there is none.
  Session& session() const;

  // Meets the other ranks, by a bootstrap or as the launcher has it; the world becomes group 0. Does nothing when that
  // has happened.
  void start(const Settings& settings, std::unique_ptr<comm::Bootstrap> bootstrap);
  // Leaves the other ranks, who learn why if there is a reason. What is on its way fails.
  void stop(const std::string& why);

  // Groups by number. All ranks make and drop them in the same order, so numbers agree.
  int add_group(const std::vector<int>& ranks);
  bool drop_group(int number);
  // FAILS WITH: BadInput for a number that stands for no group.
  const comm::Group& group(int number) const;
  std::map<int, std::vector<int>> groups() const;

  PendingTable& pending() { return pending_; }

  void add_user(SessionUser* user) { users_.insert(user); }
  void remove_user(SessionUser* user) { users_.erase(user); }

 private:
  State() = default;

  std::unique_ptr<Session> session_;
  std::map<int, comm::Group> groups_;
  int next_group_ = 0;
  PendingTable pending_;
  std::set<SessionUser*> users_;
};

}  // namespace ronde::python
