#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"

namespace ronde::launch::detail {

// Two ends that programs we start do not inherit.
struct Pipe {
  FileDescriptor read, write;

  // FAILS WITH: System.
  static Pipe make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error::system(errno, "cannot make a pipe");
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }
};

// For an end of a pipe this concerns our side alone.
inline void stop_blocking(int descriptor) {
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

inline FileDescriptor open_null() {
  FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) throw Error::system(errno, "cannot open /dev/null");
  return null;
}

}  // namespace ronde::launch::detail
