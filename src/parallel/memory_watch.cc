#include "ronde/parallel/memory_watch.h"

#include <algorithm>
#include <utility>

#include <ATen/record_function.h>

#include "ronde/parallel/detail/arena_allocator.h"

namespace ronde::parallel {
namespace {

detail::ArenaMeter& meter() {
  return detail::ArenaAllocator::of_process().meter();
}

// torch calls plain functions, which find the marks of their thread here.
constinit thread_local std::vector<MemoryMark>* current = nullptr;

void mark(const at::RecordFunction&, at::ObserverContext*) {
  const std::uint64_t peak = meter().take_peak();
  current->push_back({.peak = peak, .in_use = meter().in_use()});
}

}  // namespace

struct MemoryWatch::Impl {
  std::vector<MemoryMark> marks;
  std::uint64_t peak = 0;  // of the process, before and meanwhile
  at::CallbackHandle handle = 0;
};

MemoryWatch::MemoryWatch() : impl_(std::make_unique<Impl>()) {
  impl_->peak = meter().take_peak();
  current = &impl_->marks;
  impl_->handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(nullptr, &mark).scopes({at::RecordScope::FUNCTION}));
}

MemoryWatch::~MemoryWatch() {
  at::removeCallback(impl_->handle);
  current = nullptr;
  take();
  meter().raise_peak(impl_->peak);
}

std::vector<MemoryMark> MemoryWatch::take() {
  impl_->marks.push_back({.peak = meter().take_peak(), .in_use = meter().in_use()});
  for (const MemoryMark& one : impl_->marks) impl_->peak = std::max(impl_->peak, one.peak);
  return std::exchange(impl_->marks, {});
}

}  // namespace ronde::parallel
