#include "ronde/report/export/horovod_names.h"
#include "ronde/trace/span_names.h"

#include <algorithm>
#include <cctype>

namespace ronde::report::exporting {

std::string horovod_operation(std::string_view name) {
  std::string upper;
  for (const char letter : name)
    if (letter != '_') upper += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return upper;
}

namespace {

constexpr std::int64_t kAtOnce = 20'000;  // ns

bool is_round(const TimelineSpan& span) {
  return span.name != trace::span_names::kWaitForReady;
}

}  // namespace

Negotiations::Named Negotiations::take_half() {
  Named named;
  take(collectives_.size() / 2, named);
  if (collectives_.empty()) take_rest(rounds_.size() / 2, named);
  return named;
}

Negotiations::Named Negotiations::take_all() {
  Named named;
  take(collectives_.size(), named);
  take_rest(rounds_.size(), named);
  return named;
}

// A collective is moved once a round has agreed on it, in their order. A round that ended before this rank's last
// request had come did not: it came to nothing, and counts as a part of the negotiation. Where it is not known when
// requests came: what was agreed on while another was moving begins as soon as that ends, or was none.
void Negotiations::take(std::size_t collectives, Named& named) {
  std::ranges::stable_sort(rounds_, {}, &TimelineSpan::begin);
  std::ranges::stable_sort(collectives_, {}, &Collective::begin);
  std::size_t next = 0;  // round
  for (std::size_t i = 0; i < collectives; ++i) {
    const Collective& one = collectives_[i];
    const std::string operation = horovod_operation(one.name);
    const std::int64_t since = one.arrival.value_or(one.begin - last_end_ > kAtOnce ? last_end_ : 0);
    std::optional<std::int64_t> agreed;
    for (; !agreed && next < rounds_.size() && rounds_[next].begin <= one.begin; ++next) {
      TimelineSpan& span = rounds_[next];
      if (is_round(span)) {
        if (span.end >= since) agreed = span.end;
        named.cycles.push_back(span.begin);
        span.name = "NEGOTIATE_" + operation;
      } else {
        span.name = one.requests > 1 ? "WAIT_FOR_OTHER_TENSOR_DATA" : "WAIT_FOR_DATA";
      }
      named.agree.push_back(std::move(span));
    }
    const std::int64_t queued = std::max(agreed.value_or(one.begin), last_begin_);
    if (queued < one.begin) named.queue.push_back({.begin = queued, .end = one.begin, .name = "QUEUE"});
    last_begin_ = one.begin;
    last_end_ = std::max(last_end_, one.end);
  }
  rounds_.erase(rounds_.begin(), rounds_.begin() + static_cast<std::ptrdiff_t>(next));
  collectives_.erase(collectives_.begin(), collectives_.begin() + static_cast<std::ptrdiff_t>(collectives));
}

void Negotiations::take_rest(std::size_t rounds, Named& named) {
  const auto end = rounds_.begin() + static_cast<std::ptrdiff_t>(rounds);
  for (auto span = rounds_.begin(); span != end; ++span) {
    if (is_round(*span)) named.cycles.push_back(span->begin);
    named.agree.push_back(std::move(*span));
  }
  rounds_.erase(rounds_.begin(), end);
}

}  // namespace ronde::report::exporting
