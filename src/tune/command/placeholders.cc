#include "ronde/tune/command/placeholders.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::tune {
namespace {

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./-").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<std::string> value_of(std::string name, const TrialWords& trial) {
  if (const Json::json_pointer place("/" + name); trial.config.contains(place)) return text_of(trial.config[place]);
  std::ranges::replace(name, '.', '/');
  if (const Json::json_pointer place("/" + name); trial.config.contains(place)) return text_of(trial.config[place]);
  if (name == "trial_id") return trial.id;
  if (name == "trial_dir") return trial.folder;
  return {};
}

[[noreturn]] void refuse(const std::string& name, const TrialWords& trial) {
  std::vector<std::string> names;
  for (const auto& [path, value] : flatten(trial.config)) names.push_back(path);
  const auto meant = nearest(name, names);
  throw Error::bad_input("the command has {{{}}}, which the search space has not; {} (write {{{{{}}}}} for the text)",
                         name, meant ? "did you mean {" + *meant + "}?" : "it has " + join(names, ", "), name);
}

std::string fill(std::string_view word, const TrialWords& trial) {
  std::string filled;
  while (!word.empty()) {
    const bool is_literal = word.starts_with("{{");
    const std::size_t begin = is_literal ? 2 : 1;
    const std::size_t end = word.front() == '{' ? word.find('}') : word.npos;
    const std::string name(end == word.npos ? "" : word.substr(begin, end - begin));
    if (!is_name(name) || (is_literal && word.substr(end, 2) != "}}")) {
      filled += word.front();
      word.remove_prefix(1);
      continue;
    }
    const auto value = is_literal ? "{" + name + "}" : value_of(name, trial);
    if (!value) refuse(name, trial);
    filled += *value;
    word.remove_prefix(end + begin);
  }
  return filled;
}

}  // namespace

std::vector<std::string> fill_placeholders(const std::vector<std::string>& words, const TrialWords& trial) {
  std::vector<std::string> filled;
  for (const std::string& word : words) filled.push_back(fill(word, trial));
  return filled;
}

void check_placeholders(const std::vector<std::string>& words, const Space& space) {
  if (space.has_conditions() || space.has_computed()) return;
  Random random(0);
  const auto pick = [&](const std::string&, const Domain& domain) { return draw(domain, random); };
  fill_placeholders(words, {.config = space.resolve(0, {}, pick), .id = "00000", .folder = "."});
}

}  // namespace ronde::tune
