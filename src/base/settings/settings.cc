#include "ronde/base/settings/settings.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <toml++/toml.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde {
namespace {

std::string suggestion(std::string_view wrong, const std::vector<std::string>& candidates) {
  const auto meant = nearest(wrong, candidates);
  return meant ? "; did you mean " + *meant + "?" : "; 'ronde info --settings' lists them all";
}

std::vector<std::string> names_of_all(std::string (*name_of)(const Setting&)) {
  std::vector<std::string> names;
  for (const Setting& setting : kSettings) names.push_back(name_of(setting));
  return names;
}

std::string key_of(const Setting& setting) {
  return std::string(setting.key);
}

std::size_t find_key(std::string_view key, const std::string& origin) {
  const auto found = std::ranges::find(kSettings, key, &Setting::key);
  if (found != kSettings.end()) return static_cast<std::size_t>(found - kSettings.begin());
  throw Error::bad_input("{}: there is no setting '{}'{}", origin, key, suggestion(key, names_of_all(key_of)));
}

// A TOML value as the text that a flag would carry, so that there is one parser.
std::string toml_text(const toml::node& node, const std::string& origin, const std::string& key) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  throw Error::bad_input("{}: '{}' must be a string, a number or true/false", origin, key);
}

constexpr const char* kExtends = "extends";  // of a recipe: the one that it begins from

toml::table parsed(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw Error::bad_input("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
}

void read_table(Settings& settings, const toml::table& table, const std::string& name, const std::string& prefix,
                bool recipe = false) {
  for (const auto& [key, node] : table) {
    const std::string full = prefix + std::string(key.str());
    if (recipe && full == kExtends) continue;
    if (const auto* inner = node.as_table()) {
      read_table(settings, *inner, name, full + ".");
      continue;
    }
    const std::string origin = fmt::format("{}:{}", name, node.source().begin.line);
    if (full == "config") throw Error::bad_input("{}: a settings file cannot name another settings file", origin);
    settings.set(full, toml_text(node, origin, full), origin);
  }
}

// The file that holds settings is itself a setting: it must be known before the others are read.
struct ConfigFile {
  std::string path, origin;
};
std::optional<ConfigFile> config_file(const Environment& environment, std::span<const Settings::Flag> flags) {
  std::optional<ConfigFile> file;
  if (const auto path = environment.get("RONDE_CONFIG")) file = {*path, "RONDE_CONFIG"};
  for (const auto& flag : flags)
    if (flag.key == "config") file = {flag.text, flag.origin};
  if (file && file->path.empty()) return {};
  return file;
}

std::string read_file(const std::filesystem::path& path, const std::string& origin) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path))
    throw Error::bad_input("settings file {} (from {}) cannot be read: {}", path.string(), origin,
                           stream ? "it is a folder" : std::generic_category().message(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Settings::Settings() {
  for (const Setting& setting : kSettings)
    entries_.push_back({parse_value(setting, setting.initial), std::string(setting.initial), "default"});
}

Settings Settings::load(const Environment& environment, std::span<const Flag> flags, const Recipe& recipe) {
  Settings settings;
  if (const auto file = config_file(environment, flags))
    settings.read_toml_text(read_file(file->path, file->origin), file->path);
  settings.read_recipe(recipe);
  settings.recipe_ = recipe.name;
  settings.read_environment(environment);
  for (const Flag& flag : flags) settings.set(flag.key, flag.text, flag.origin);
  return settings;
}

void Settings::read_environment(const Environment& environment) {
  const std::vector<std::string> known = names_of_all(variable_name);
  for (const auto& [name, text] : environment.all()) {
    if (!name.starts_with("RONDE_") || name.starts_with("RONDE__")) continue;
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw Error::bad_input("environment variable {}={}: there is no such setting{}", name, text,
                             suggestion(name, known));
    set(kSettings[static_cast<std::size_t>(found - known.begin())].key, text, name);
  }
}

void Settings::read_toml_text(std::string_view text, const std::string& name) {
  read_table(*this, parsed(text, name), name, "");
}

void Settings::read_recipe(const Recipe& recipe) {
  for (const Recipe& base : recipe.bases) read_recipe(base);
  const toml::table table = parsed(recipe.text, recipe.name);
  if (!recipe.name.empty()) recipes_.push_back(recipe.name);
  read_table(*this, table, recipe.name, "", /*recipe=*/true);
}

std::string extended_recipe(std::string_view text, const std::string& name) {
  const toml::table table = parsed(text, name);
  const toml::node* node = table.get(kExtends);
  return node ? toml_text(*node, fmt::format("{}:{}", name, node->source().begin.line), kExtends) : std::string();
}

void Settings::set(std::string_view key, std::string_view text, const std::string& origin) {
  const std::size_t index = find_key(key, origin);
  try {
    entries_[index] = {parse_value(kSettings[index], text), std::string(trim(text)), origin};
  } catch (const Error& error) {
    throw Error::bad_input("setting {} (from {}): {}", key, origin, error.message());
  }
}

std::string settings_as_markdown() {
  std::string page =
      "# Settings\n\n"
      "Made by `ronde info --settings --markdown` from `src/base/settings/settings_list.h`; a test compares the "
      "two.\n\n"
      "A setting comes from a TOML file (`--config FILE`), an environment variable or a flag; the later one wins.\n"
      "Sizes take units (`64MiB`, `1GB`), times too (`30s`, `2ms`). A value that does not parse, or a `RONDE_*`\n"
      "variable that names no setting, stops the program with exit code 2.\n\n"
      "| key (TOML) | takes | default | flag | variable | what it does |\n|---|---|---|---|---|---|\n";
  for (const Setting& setting : kSettings) {
    std::string takes(setting.range.empty() ? name(setting.type) : setting.range);
    for (std::size_t at = 0; (at = takes.find('|', at)) != std::string::npos; at += 2) takes.insert(at, "\\");
    page += fmt::format("| `{}` | {} | {} | `{}` | `{}` | {} |\n", setting.key, takes,
                        setting.initial.empty() ? "" : fmt::format("`{}`", setting.initial), flag_name(setting),
                        variable_name(setting), setting.help);
  }
  return page;
}

}  // namespace ronde
