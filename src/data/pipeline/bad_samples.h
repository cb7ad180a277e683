#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"

namespace ronde::data {

// Decides what happens when a sample cannot be read: stop, or go on with another in its place. Every bad sample is
// named once and counted; when there are so many that something else must be wrong, it stops all the same. Safe to call
// from any thread.
class BadSamples {
 public:
  using Say = std::function<void(const std::string& sentence)>;

  BadSamples(bool skip, std::int64_t samples, Say say) : skip_(skip), samples_(samples), say_(std::move(say)) {}

  // Returns when another sample is to be taken.
  // FAILS WITH: BadInput that names the sample and what is wrong with it; `error` itself when it is no BadInput.
  void add(std::int64_t index, const std::string& where, const Error& error);

  std::int64_t count() const;

 private:
  const bool skip_;
  const std::int64_t samples_;
  const Say say_;
  mutable Mutex mutex_;
  std::set<std::int64_t> known_ RONDE_GUARDED_BY(mutex_);
};

}  // namespace ronde::data
