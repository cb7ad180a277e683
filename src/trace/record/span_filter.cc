#include "ronde/trace/record/span_filter.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::trace::detail {

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
