#include "ronde/train/recipes.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/train/session/recipes_text.h"

namespace ronde::train {
namespace {

constexpr std::string_view kBuiltIn = "recipe ";  // stands before the name of one in messages

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : detail::kRecipes) names.emplace_back(name);
  return names;
}

Settings::Recipe find_recipe(const std::string& file_or_name) {
  std::error_code failure;
  const bool folder = std::filesystem::is_directory(file_or_name, failure);  // such as the output of a recipe's name
  if (!folder && std::filesystem::exists(file_or_name, failure)) {
    std::ifstream file(file_or_name, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw Error::bad_input("cannot read the recipe {}", file_or_name);
    return {.text = std::move(text), .name = file_or_name};
  }
  for (const auto& [name, text] : detail::kRecipes)
    if (name == file_or_name) return {.text = std::string(text), .name = std::string(kBuiltIn) + file_or_name};
  if (folder) throw Error::bad_input("{} is a folder, and there is no built-in recipe of that name", file_or_name);
  const auto meant = nearest(file_or_name, recipe_names());
  throw Error::bad_input("no recipe file '{}' and no built-in recipe of that name{}; built-in recipes: {}",
                         file_or_name, meant ? fmt::format("; did you mean {}?", *meant) : "",
                         join(recipe_names(), ", "));
}

std::string recipe_name(const Settings& settings) {
  const std::string& recipe = settings.recipe();
  if (recipe.starts_with(kBuiltIn)) return recipe.substr(kBuiltIn.size());
  return std::filesystem::path(recipe).stem().string();
}

std::string recipe_summary(const Settings::Recipe& recipe) {
  std::string first;
  for (const auto line : split(recipe.text, '\n')) {
    if (!line.starts_with("#")) break;
    first += std::string(line.substr(1)) + "\n";
  }
  return first;
}

}  // namespace ronde::train
