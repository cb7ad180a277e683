#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ronde::report::exporting {

// What happens on a row: a span, or a moment (it ends where it begins).
struct RowSpan {
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  using Attribute = std::pair<std::uint32_t, std::variant<std::int64_t, double, std::uint32_t>>;

  std::int64_t begin = 0, end = kOpen;
  int kind = 0;            // the caller's
  std::uint32_t what = 0;  // the caller's: what it is
  double value = 0;        // of a counter
  std::vector<Attribute> attributes = {};
};

// Hands over the spans of one row as they begin and end, by time and properly nested, though a span that holds others
// may be told after them. Keeps a bounded number of spans back for that; a span that comes later still begins late, and
// is counted. A span that reaches out of the one that holds it ends with it. Not thread-safe.
class SpanOrder {
 public:
  class Out {
   public:
    virtual ~Out() = default;
    virtual void enter(const RowSpan& span, std::int64_t time) = 0;
    virtual void leave(const RowSpan& span, std::int64_t time) = 0;
  };

  explicit SpanOrder(Out& out, std::size_t keep = std::size_t{1} << 15) : out_(out), keep_(keep) {}

  // A span that end() ends, the last first, or one whose end is known.
  void begin(RowSpan span);
  // The span that ends there, for what is told of it at its end. Null: none had begun. Valid until the next call.
  RowSpan* end(std::int64_t time);
  // All that is left; what is still open ends with what came last.
  void finish();

  std::uint64_t late() const { return late_; }

 private:
  void flush(std::size_t count);
  void emit(std::unique_ptr<RowSpan> span);
  void leave_top();

  Out& out_;
  const std::size_t keep_;
  std::vector<std::unique_ptr<RowSpan>> waiting_;  // not entered yet
  std::vector<std::unique_ptr<RowSpan>> entered_;  // a stack
  std::vector<RowSpan*> open_;                     // begun, not ended; each is in one of the two
  std::int64_t last_ = 0;                          // handed over
  std::int64_t newest_ = 0;                        // told
  std::uint64_t late_ = 0;
};

}  // namespace ronde::report::exporting
