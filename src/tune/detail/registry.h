#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

// What the registries of samplers and of schedulers share.
namespace ronde::tune {

// FAILS WITH: BadInput for a name that no entry has, with those that there are.
template <class Entry>
Entry find_entry(std::vector<Entry> entries, std::string_view name, std::string_view setting) {
  std::vector<std::string> names;
  for (Entry& entry : entries) {
    if (entry.name == name || std::ranges::find(entry.aliases, name) != entry.aliases.end()) return std::move(entry);
    names.emplace_back(entry.name);
  }
  throw Error::bad_input("{}: there is no '{}'; there are {}", setting, name, join(names, ", "));
}

// FAILS WITH: BadInput for an option that the entry does not read.
template <class Entry>
void check_options(const Entry& entry, const nlohmann::json& options, std::string_view what) {
  for (const auto& [key, value] : options.items()) {
    if (std::ranges::find(entry.options, key) != entry.options.end()) continue;
    const std::vector<std::string> known(entry.options.begin(), entry.options.end());
    throw Error::bad_input("{} '{}' has no option '{}'; it has {}", what, entry.name, key,
                           known.empty() ? "none" : join(known, ", "));
  }
}

}  // namespace ronde::tune
