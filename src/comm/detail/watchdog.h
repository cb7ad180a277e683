#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ronde/base/file_descriptor.h"

namespace ronde::comm::detail {

// What a rank says when it leaves of its own accord.
struct Farewell {
  int first_cause = -1;  // the rank that made it leave; -1: nobody
  std::string why = {};  // empty: it is done
};
std::string write_farewell(const Farewell& farewell);
Farewell read_farewell(const std::string& text);

// Watches the sockets to the other ranks of the node from a thread of its own, which sleeps until one of them says
// something or closes.
class Watchdog {
 public:
  // Called on the watchdog's thread, once a peer: `farewell` is empty when it closed without a word.
  using Gone = std::function<void(int peer, const std::string& farewell)>;

  // `sockets` by peer; an empty one is not watched. They must outlive the watchdog. FAILS WITH: System.
  Watchdog(const std::vector<FileDescriptor>& sockets, Gone gone);
  ~Watchdog();

  // Says farewell to everyone who still listens. Does not wait.
  void say(const std::string& farewell) const;

 private:
  void watch(const std::stop_token& stop);
  bool hear(int peer);

  const std::vector<FileDescriptor>& sockets_;
  Gone gone_;
  FileDescriptor poll_, stop_;
  std::jthread thread_;
};

}  // namespace ronde::comm::detail
