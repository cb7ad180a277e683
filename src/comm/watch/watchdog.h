#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::comm::detail {

// Watches the sockets to the other ranks of the node from a thread of its own, which sleeps until one of them says
// something or closes.
class Watchdog {
 public:
  // Called on the watchdog's thread; `message` is empty, once a peer, when it has closed.
  using Heard = std::function<void(int peer, const std::string& message)>;

  static constexpr std::size_t kLongest = 128 << 10;  // of a message

  // `sockets` by peer; an empty one is not watched. They must outlive the watchdog. FAILS WITH: System.
  Watchdog(const std::vector<FileDescriptor>& sockets, Heard heard);
  ~Watchdog();

  // Watches one more descriptor: when there is something to be read, `ready` is called on the watchdog's thread, once
  // for each arm(). To be called once; the descriptor must outlive the watchdog.
  void watch_also(int descriptor, std::function<void()> ready);
  void arm() const;
  void arm_soon() const;  // in a millisecond, from the watchdog's thread, unless disarmed before
  void disarm() const;

  // How often its thread has woken. Any thread.
  std::uint64_t wake_ups() const { return wake_ups_.load(std::memory_order_relaxed); }

  // Says something to everyone who still listens. Does not wait.
  void say(const std::string& message) const;
  // The same to one of them.
  void say_to(int peer, const std::string& message) const;

 private:
  void watch(const std::stop_token& stop);
  bool hear(int peer);
  void set_timer(long nanoseconds) const;

  const std::vector<FileDescriptor>& sockets_;
  Heard heard_;
  FileDescriptor poll_, stop_, soon_;
  int other_ = -1;  // descriptor
  std::function<void()> other_ready_;
  std::atomic<std::uint64_t> wake_ups_ = 0;
  std::vector<char> text_ = std::vector<char>(kLongest);  // the thread's own: what was heard last
  std::jthread thread_;
};

}  // namespace ronde::comm::detail
