#pragma once

#include <string>
#include <utility>

#include <hdf5.h>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/data/array.h"

// What reading and writing HDF5 share.
namespace ronde::data::files {

// Nobody else in this process is in the library while one of these lives, and the library prints nothing.
class Hdf5Lock {
 public:
  Hdf5Lock();

 private:
  Lock lock_;
};

// The innermost reason of what failed last in this thread. REQUIRES: an Hdf5Lock.
std::string hdf5_reason();

// The library's name for a type; -1 for BF16, which it has not. Belongs to the library.
hid_t hdf5_type(Type type);

template <class... Args>
Error hdf5_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error::bad_input("{}: {}", fmt::format(format, std::forward<Args>(args)...), hdf5_reason());
}

// Something of the library's, closed once. REQUIRES: an Hdf5Lock to make and to destroy one.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() { reset(); }

  void reset() {
    if (id_ >= 0) close_(std::exchange(id_, -1));
  }
  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

}  // namespace ronde::data::files
