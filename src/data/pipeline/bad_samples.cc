#include "ronde/data/pipeline/bad_samples.h"

#include <algorithm>

#include "ronde/base/text/text.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kAlways = 10;  // so many may be bad in any set,
constexpr std::int64_t kShare = 100;  // and one in so many of a large one

// The place goes in front, unless the sentence has it already.
std::string sentence_of(const std::string& where, const Error& error) {
  return error.message().find(where) == std::string::npos ? fmt::format("{}: {}", where, error.message())
                                                          : error.message();
}

}  // namespace

void BadSamples::add(std::int64_t index, const std::string& where, const Error& error) {
  if (error.kind() != Error::Kind::BadInput) throw error;
  const std::string sentence = sentence_of(where, error);
  if (!skip_) throw Error::bad_input("{} (set data.on_error=skip to leave out such samples)", sentence);
  const std::int64_t most = std::min(std::max(kAlways, samples_ / kShare), samples_ - 1);
  std::size_t count = 0;
  {
    const Lock lock(mutex_);
    if (!known_.insert(index).second) return;
    count = known_.size();
  }
  if (static_cast<std::int64_t>(count) == samples_)
    throw Error::bad_input("none of the {} samples can be read; the last error: {}", samples_, sentence);
  if (static_cast<std::int64_t>(count) > most)
    throw Error::bad_input("{} of {} cannot be read; the last error: {}", counted(count, "sample"), samples_, sentence);
  if (say_) say_(fmt::format("skipped: {}", sentence));
}

std::int64_t BadSamples::count() const {
  const Lock lock(mutex_);
  return std::ssize(known_);
}

}  // namespace ronde::data
