#include "ronde/report/export/span_order.h"

#include <algorithm>

namespace ronde::report::exporting {

void SpanOrder::begin(RowSpan span) {
  if (waiting_.size() >= 2 * keep_) flush(keep_);
  newest_ = std::max(newest_, span.end == RowSpan::kOpen ? span.begin : span.end);
  waiting_.push_back(std::make_unique<RowSpan>(std::move(span)));
  if (waiting_.back()->end == RowSpan::kOpen) open_.push_back(waiting_.back().get());
}

RowSpan* SpanOrder::end(std::int64_t time) {
  if (open_.empty()) return nullptr;
  RowSpan* span = open_.back();
  open_.pop_back();
  span->end = std::max(span->begin, time);
  newest_ = std::max(newest_, span->end);
  return span;
}

void SpanOrder::finish() {
  for (RowSpan* span : open_) span->end = std::max(span->begin, newest_);
  open_.clear();
  flush(waiting_.size());
  while (!entered_.empty()) leave_top();
}

void SpanOrder::flush(std::size_t count) {
  std::ranges::stable_sort(waiting_, [](const auto& a, const auto& b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
  });
  for (std::size_t i = 0; i < count; ++i) emit(std::move(waiting_[i]));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
}

void SpanOrder::emit(std::unique_ptr<RowSpan> span) {
  while (!entered_.empty() && entered_.back()->end <= span->begin) leave_top();
  if (span->begin < last_) ++late_;
  if (!entered_.empty() && span->end != RowSpan::kOpen) span->end = std::min(span->end, entered_.back()->end);
  last_ = std::max(last_, span->begin);
  out_.enter(*span, last_);
  entered_.push_back(std::move(span));
}

void SpanOrder::leave_top() {
  const auto span = std::move(entered_.back());
  entered_.pop_back();
  last_ = std::max(last_, span->end);
  out_.leave(*span, last_);
}

}  // namespace ronde::report::exporting
