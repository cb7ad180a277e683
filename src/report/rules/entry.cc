#include "ronde/report/rules/entry.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::report::rules {

RuleEntry find_rule(std::string_view name) {
  std::vector<RuleEntry> all = rule_entries();
  const auto found = std::ranges::find(all, name, &RuleEntry::name);
  if (found == all.end()) throw Error(Error::Kind::Bug, fmt::format("no rule of advice is called '{}'", name));
  return std::move(*found);
}

}  // namespace ronde::report::rules
