#pragma once

namespace ronde::trace::detail {

// The writer's bell. ring() never waits, may be called from any thread, and is remembered until someone sleeps on it.
class Wake {
 public:
  // FAILS WITH: System, when the process has no file descriptor left.
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  void ring() noexcept;
  // Returns when the bell rings, or after `milliseconds`.
  void sleep(int milliseconds) noexcept;

 private:
  const int fd_;
};

}  // namespace ronde::trace::detail
