#pragma once

#include <array>
#include <cstddef>

#include "kept.h"
#include "ronde/trace/span.h"
#include "trace_target.h"

namespace ronde::python {

// Arguments of an event: whole numbers, numbers and texts, by name.
class EventArgs {
 public:
  static constexpr std::size_t kMost = 4;

  // `dict` may be null. FAILS WITH: BadInput for too many, or a value of another type; Python's errors.
  EventArgs(TraceTarget& target, PyObject* dict);

  // Calls `record` with an initializer_list of them.
  template <class Record>
  auto pass_to(const Record& record) const {
    const auto& a = args_;
    switch (count_) {
      case 0: return record({});
      case 1: return record({a[0]});
      case 2: return record({a[0], a[1]});
      case 3: return record({a[0], a[1], a[2]});
      default: return record({a[0], a[1], a[2], a[3]});
    }
  }

 private:
  static constexpr trace::Arg kNone{trace::Name("none"), 0};
  std::array<trace::Arg, kMost> args_{kNone, kNone, kNone, kNone};
  std::size_t count_ = 0;
};

// Ends the span that made `depth` of them open, and those inside it that are still open: what is recorded nests, even
// where Python's generators do not.
inline void end_down_to(trace::detail::ThreadLog& log, std::size_t depth) {
  while (trace::detail::open_spans(log) >= depth) trace::detail::end_span(log, {});
}

}  // namespace ronde::python
