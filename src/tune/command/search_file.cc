#include "ronde/tune/command/search_file.h"

#include <algorithm>
#include <vector>

#include <toml++/toml.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::tune {
namespace {

Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json json = Json::object();
    for (const auto& [key, value] : *table) json[std::string(key.str())] = json_of(value);
    return json;
  }
  if (const auto* array = node.as_array()) {
    Json json = Json::array();
    for (const auto& value : *array) json.push_back(json_of(value));
    return json;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  throw Error::bad_input("{}:{}: dates and times are not values of a search", *node.source().path,
                         node.source().begin.line);
}

constexpr auto kTimes = std::to_array<std::string_view>({"trial_timeout", "time_budget"});
constexpr const char* kConcurrency = "concurrency";

std::vector<std::string> known_keys() {
  std::vector<std::string> keys{kConcurrency};
  keys.insert(keys.end(), kTimes.begin(), kTimes.end());
  // Not those that the program decides.
  const Json options = to_json(SearchOptions{});
  for (const auto& [key, value] : options.items())
    if (key != "slots" && key != "can_save" && key != "command") keys.push_back(key);
  return keys;
}

std::chrono::nanoseconds time_of(const Json& table, const char* key, const std::string& name) {
  const auto found = table.find(key);
  if (found == table.end()) return {};
  if (!found->is_string())
    throw Error::bad_input("{}: tune.{} must be a time such as \"5min\", got {}", name, key, found->dump());
  try {
    return parse_duration(found->get<std::string>());
  } catch (const Error& error) {
    throw Error::bad_input("{}: tune.{}: {}", name, key, error.message());
  }
}

}  // namespace

Json read_tune_table(std::string_view text, const std::string& name) {
  try {
    const toml::table all = toml::parse(text, name);
    const auto* table = all["tune"].as_table();
    if (!table) throw Error::bad_input("{}: there is no table [tune]", name);
    for (const auto& [key, value] : all)
      if (key.str() != "tune")
        throw Error::bad_input("{}: unknown table '{}'; everything about a search is in [tune]", name, key.str());
    return json_of(*table);
  } catch (const toml::parse_error& error) {
    throw Error::bad_input("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
}

SearchFile search_file(const Json& table, const std::string& name) {
  const std::vector<std::string> known = known_keys();
  for (const auto& [key, value] : table.items())
    if (std::ranges::find(known, key) == known.end()) {
      const auto meant = nearest(key, known);
      throw Error::bad_input("{}: there is no tune.{}{}", name, key,
                             meant ? "; did you mean tune." + *meant + "?" : "; there are " + join(known, ", "));
    }
  if (!table.contains("space")) throw Error::bad_input("{}: missing table [tune.space]: what is to be tried", name);
  SearchFile file;
  file.options = search_options(table);
  if (const auto found = table.find(kConcurrency); found != table.end()) {
    if (!found->is_number_integer() || *found < 0)
      throw Error::bad_input("{}: tune.concurrency must be a whole number, got {}", name, found->dump());
    file.concurrency = found->get<int>();
  }
  file.trial_timeout = time_of(table, "trial_timeout", name);
  file.time_budget = time_of(table, "time_budget", name);
  return file;
}

}  // namespace ronde::tune
