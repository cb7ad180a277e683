#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ronde::trace::detail {

// Which spans a file gets, by their names: "forward,backward,wait*" has only these, "-make,-wait for peers" all but
// these, "wait*,-wait for room" both at once. A * stands for any text, also for none; there is no other sign with a
// meaning of its own. Pure.
class SpanFilter {
 public:
  SpanFilter() = default;  // all of them
  // FAILS WITH: BadInput for a pattern without a text.
  explicit SpanFilter(std::string_view patterns);

  bool keeps_all() const { return wanted_.empty() && unwanted_.empty(); }
  bool keeps(std::string_view name) const;

 private:
  std::vector<std::string> wanted_, unwanted_;
};

}  // namespace ronde::trace::detail
