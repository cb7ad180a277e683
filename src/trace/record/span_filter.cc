#include "ronde/trace/record/span_filter.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::trace::detail {

// By the last * alone: what an earlier one stands for never has to be looked at again, since a shorter match of the
// texts before leaves more for those after.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t at = 0, in_pattern = 0;
  std::size_t star = std::string_view::npos, star_at = 0;  // the last *, and where the text after it is tried
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

SpanFilter::SpanFilter(std::string_view patterns) {
  if (trim(patterns).empty()) return;
  for (const std::string_view part : split(patterns, ',')) {
    const std::string_view pattern = trim(part);
    const bool unwanted = pattern.starts_with('-');
    const std::string_view text = unwanted ? trim(pattern.substr(1)) : pattern;
    if (text.empty())
      throw Error::bad_input("trace.filter is '{}': write the name of a span, such as 'wait*', between commas",
                             patterns);
    (unwanted ? unwanted_ : wanted_).emplace_back(text);
  }
}

bool SpanFilter::keeps(std::string_view name) const {
  const auto fits = [&](const std::string& pattern) { return matches(pattern, name); };
  return (wanted_.empty() || std::ranges::any_of(wanted_, fits)) && std::ranges::none_of(unwanted_, fits);
}

}  // namespace ronde::trace::detail
