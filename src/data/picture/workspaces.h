#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "ronde/base/system/mutex.h"

namespace ronde::data::picture {

// What a decoder needs while it works on a sample, kept for the next one: as many as were ever in use at a time, and
// none that a huge picture has blown up. T has bytes(). Safe to call from any thread.
template <class T>
class Workspaces {
 public:
  // One, for as long as this lives.
  class Lease {
   public:
    explicit Lease(Workspaces& from) : from_(from), one_(from.take()) {}
    ~Lease() { from_.give_back(std::move(one_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    T& operator*() { return *one_; }
    T* operator->() { return one_.get(); }

   private:
    Workspaces& from_;
    std::unique_ptr<T> one_;
  };

 private:
  static constexpr std::size_t kMostKept = 4 << 20;  // bytes

  std::unique_ptr<T> take() {
    {
      const Lock lock(mutex_);
      if (!idle_.empty()) {
        auto one = std::move(idle_.back());
        idle_.pop_back();
        return one;
      }
      idle_.reserve(++made_);  // so that giving back never allocates
    }
    return std::make_unique<T>();
  }
  void give_back(std::unique_ptr<T> one) noexcept {
    if (one->bytes() > kMostKept) one.reset();
    const Lock lock(mutex_);
    if (one)
      idle_.push_back(std::move(one));
    else
      --made_;
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_ RONDE_GUARDED_BY(mutex_);
  std::size_t made_ RONDE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ronde::data::picture
