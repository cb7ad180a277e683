#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/setting.h"
#include "ronde/base/settings/settings_list.h"

namespace ronde {

namespace detail {

// A text as template argument: get<"trace.bytes">.
template <std::size_t Size>
struct Key {
  char letters[Size]{};
  consteval Key(const char (&text)[Size]) { std::copy_n(text, Size, letters); }
  constexpr std::string_view view() const { return {letters, Size - 1}; }
};

constexpr std::size_t setting_index(std::string_view key) {
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (kSettings[i].key == key) return i;
  throw "no such setting in settings_list.h";  // stops the compilation
}

template <SettingType Type>
auto value_type() {
  if constexpr (Type == SettingType::Bool) return bool{};
  if constexpr (Type == SettingType::Int) return std::int64_t{};
  if constexpr (Type == SettingType::Real) return double{};
  if constexpr (Type == SettingType::Bytes) return std::uint64_t{};
  if constexpr (Type == SettingType::Duration) return std::chrono::nanoseconds{};
  if constexpr (Type == SettingType::Steps) return StepWindow{};
  if constexpr (Type == SettingType::Text || Type == SettingType::Choice) return std::string{};
}

}  // namespace detail

// A TOML text of settings, and what errors call it. It overrides its bases, the later ones the earlier ones.
struct SettingsRecipe {
  std::string text = {}, name = {};
  std::vector<SettingsRecipe> bases = {};
};

// The values of all settings, each with where it came from. A later source overrides an earlier one:
// default, TOML file, recipe, environment, flag.
//
//   const Settings settings = Settings::load(Environment::of_process(), {{"trace.bytes", "64MiB"}});
//   std::uint64_t bytes = settings.get<"trace.bytes">();   // a key that is not in the list does not compile
//
// Every wrong key or value is an Error of kind BadInput that names the key, the value and its source.
// A value type: copy it freely; not to be changed while other threads read it.
class Settings {
 public:
  struct Flag {
    std::string key, text;
    std::string origin = "--set";  // how the user wrote it
  };
  struct Entry {
    SettingValue value;
    std::string text;    // as its source wrote it
    std::string origin;  // "default", "run.toml:3", "RONDE_TRACE_BYTES", "--trace-bytes"
  };

  Settings();  // all defaults

  using Recipe = SettingsRecipe;

  // Defaults, then the TOML file that `config` names, then the recipe, then the environment, then the flags.
  static Settings load(const Environment& environment, std::span<const Flag> flags, const Recipe& recipe = {});
  static Settings load(const Environment& environment, std::initializer_list<Flag> flags) {
    return load(environment, std::span(flags.begin(), flags.size()));
  }

  // Takes every RONDE_* variable. One that is no setting is an error; RONDE__* (two underscores) passes between the
  // launcher and its ranks and is left alone.
  void read_environment(const Environment& environment);
  // `name` is what errors call the text: the file that it came from.
  void read_toml_text(std::string_view text, const std::string& name);
  void read_recipe(const Recipe& recipe);
  void set(std::string_view key, std::string_view text, const std::string& origin);

  template <detail::Key Name>
  auto get() const {
    constexpr std::size_t kIndex = detail::setting_index(Name.view());
    return std::get<decltype(detail::value_type<kSettings[kIndex].type>())>(entries_[kIndex].value);
  }

  // What errors call the recipe that load() was given; empty: none.
  const std::string& recipe() const { return recipe_; }
  const std::vector<std::string>& recipes() const { return recipes_; }  // that one, and those that it begins from

  // In the order of kSettings.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::string recipe_;
  std::vector<std::string> recipes_;
};

// Which recipe a recipe begins from: its key `extends`; empty: none. `name` is what errors call the text.
// FAILS WITH: BadInput for a text that is no TOML, or a value that is no text.
std::string extended_recipe(std::string_view text, const std::string& name);

// docs/settings.md, made from the list.
std::string settings_as_markdown();

}  // namespace ronde
