#include "ronde/comm/watch/status_area.h"

#include <algorithm>
#include <cstring>

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"

namespace ronde::comm::detail {

void StatusArea::set_request(Operation operation, std::string_view name, std::chrono::nanoseconds when) {
  std::size_t at = 0;
  for (auto& shown : name_) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(sizeof(word), name.size() - at);
    std::memcpy(&word, name.data() + at, bytes);
    shown.store(word, std::memory_order_relaxed);
    at += bytes;
    if (bytes < sizeof(word)) break;
  }
  operation_.store(static_cast<std::uint64_t>(operation), std::memory_order_relaxed);
  when_.store(when.count(), std::memory_order_relaxed);
}

std::string StatusArea::text(std::chrono::nanoseconds now) const {
  std::string text;
  const std::int64_t step = step_.load(std::memory_order_relaxed);
  if (step > 0) text = fmt::format("step {}, ", step - 1);
  const std::int64_t when = when_.load(std::memory_order_relaxed);
  if (when == 0) return text + "no request so far";
  std::string letters;
  for (const auto& shown : name_) {
    const std::uint64_t word = shown.load(std::memory_order_relaxed);
    char bytes[sizeof(word)];
    std::memcpy(bytes, &word, sizeof(word));
    const std::size_t length = strnlen(bytes, sizeof(bytes));
    letters.append(bytes, length);
    if (length < sizeof(bytes)) break;
  }
  const auto operation = static_cast<Operation>(operation_.load(std::memory_order_relaxed));
  const std::string quoted = letters.empty() ? "without a name" : fmt::format("'{}'", letters);
  return text + fmt::format("last request {} {} {} ago", name(operation), quoted,
                            format_duration(now - std::chrono::nanoseconds(when)));
}

}  // namespace ronde::comm::detail
