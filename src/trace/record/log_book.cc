#include "ronde/trace/record/log_book.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ronde::trace::detail {
namespace {

constexpr std::size_t kLeast = 64;  // cells of a ring

// A sixteenth of the memory, so that a small limit still serves several threads; at most 1 MiB, so that a large limit
// serves many threads instead of few.
std::size_t ring_capacity(std::size_t bytes) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  return std::bit_floor(std::max<std::size_t>(std::min(bytes / 16, kLargest) / sizeof(Cell), kLeast));
}

}  // namespace

LogBook::LogBook(ThreadLog::Shared shared, std::size_t bytes)
    : shared_(shared), capacity_(ring_capacity(bytes)), bytes_left_(std::max(bytes, capacity_ * sizeof(Cell))) {}

ThreadLog& LogBook::open(ThreadLog::Label label) {
  const Lock lock(mutex_);
  logs_.push_back(std::make_unique<ThreadLog>(shared_, take_ring(), std::move(label)));
  return *logs_.back();
}

std::unique_ptr<Ring> LogBook::take_ring() {
  if (!spare_.empty()) {
    const auto largest = std::ranges::max_element(spare_, {}, [](const auto& ring) { return ring->capacity(); });
    std::swap(*largest, spare_.back());
    auto ring = std::move(spare_.back());
    spare_.pop_back();
    return ring;
  }
  // Of what is left an eighth at most: late threads get small ones rather than none.
  std::size_t capacity = std::min(capacity_, std::bit_floor(std::max<std::size_t>(bytes_left_ / 8 / sizeof(Cell), 1)));
  capacity = std::max(capacity, kLeast);
  if (capacity * sizeof(Cell) > bytes_left_) return std::make_unique<Ring>(0);
  bytes_left_ -= capacity * sizeof(Cell);
  return std::make_unique<Ring>(capacity);
}

std::vector<ThreadLog*> LogBook::snapshot() const {
  const Lock lock(mutex_);
  std::vector<ThreadLog*> logs(logs_.size());
  std::ranges::transform(logs_, logs.begin(), [](const auto& log) { return log.get(); });
  return logs;
}

void LogBook::remove(ThreadLog& log) {
  const Lock lock(mutex_);
  dropped_by_gone_ += log.ring().dropped();
  auto ring = log.take_ring();
  std::erase_if(logs_, [&](const auto& owned) { return owned.get() == &log; });
  if (ring->capacity() == 0) return;
  ring->reset();
  spare_.push_back(std::move(ring));
}

std::uint64_t LogBook::dropped() const {
  const Lock lock(mutex_);
  return std::accumulate(logs_.begin(), logs_.end(), dropped_by_gone_,
                         [](std::uint64_t sum, const auto& log) { return sum + log->ring().dropped(); });
}

}  // namespace ronde::trace::detail
