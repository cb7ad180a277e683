#include "ronde/train/recipes.h"

#include <algorithm>
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

namespace {

Settings::Recipe read_one(const std::string& file_or_name) {
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

// `seen`: what led here.
Settings::Recipe with_bases(Settings::Recipe recipe, std::vector<std::string> seen) {
  const std::string base = extended_recipe(recipe.text, recipe.name);
  if (base.empty()) return recipe;
  seen.push_back(recipe.name);
  // A file that is not built in lies beside the one that names it.
  const auto beside = std::filesystem::path(recipe.name).parent_path() / base;
  std::error_code failure;
  const bool is_file = !recipe.name.starts_with(kBuiltIn) && std::filesystem::is_regular_file(beside, failure);
  Settings::Recipe found = read_one(is_file ? beside.string() : base);
  if (std::ranges::find(seen, found.name) != seen.end())
    throw Error::bad_input("{} extends {}, which begins from it again", recipe.name, found.name);
  recipe.bases.push_back(with_bases(std::move(found), std::move(seen)));
  return recipe;
}

}  // namespace

Settings::Recipe find_recipe(const std::string& file_or_name) {
  return with_bases(read_one(file_or_name), {});
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
