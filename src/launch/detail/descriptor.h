#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::launch::detail {

// A file descriptor, closed once.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Two ends that programs we start do not inherit.
struct Pipe {
  Descriptor read, write;

  // FAILS WITH: System.
  static Pipe make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error::system(errno, "cannot make a pipe");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }
};

// For an end of a pipe this concerns our side alone.
inline void stop_blocking(int descriptor) {
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

inline Descriptor open_null() {
  Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) throw Error::system(errno, "cannot open /dev/null");
  return null;
}

}  // namespace ronde::launch::detail
