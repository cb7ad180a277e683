#include "ronde/data/formats/shard_names.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostShards = 1'000'000;

// What stands in one pair of braces: a range of numbers, as wide as its first one is written, or a list.
std::vector<std::string> choices_of(std::string_view inside, std::string_view pattern) {
  const auto dots = inside.find("..");
  std::vector<std::string> choices;
  if (dots == std::string_view::npos) {
    for (const std::string_view piece : split(inside, ',')) choices.emplace_back(piece);
    return choices;
  }
  const std::string_view first = inside.substr(0, dots);
  const auto from = parse_number<std::uint64_t>(first), to = parse_number<std::uint64_t>(inside.substr(dots + 2));
  if (!from || !to || *from > *to || *to - *from >= kMostShards)
    throw Error::bad_input("'{}': {{{}}} is not a range of numbers such as {{000..012}}", pattern, inside);
  for (std::uint64_t i = *from; i <= *to; ++i) choices.push_back(fmt::format("{:0{}}", i, first.size()));
  return choices;
}

bool has_braces(const fs::path& path) {
  return path.string().find('{') != std::string::npos;
}

std::vector<std::string> shards_in(const fs::path& folder, std::string_view ending) {
  std::error_code failure;
  std::vector<std::string> found;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with('.') && name.ends_with(ending) && at->is_regular_file(ignored))
      found.push_back(at->path().string());
  }
  if (failure == std::errc::permission_denied)
    throw Error::bad_input("cannot read the folder {}: permission denied", folder.string());
  if (failure) throw Error::system(failure.value(), "cannot read the folder {}", folder.string());
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view pattern) {
  std::vector<std::string> names{""};
  for (std::string_view rest = pattern; !rest.empty();) {
    const auto open = rest.find('{');
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = rest.find('}', open);
    if (close == std::string_view::npos) throw Error::bad_input("'{}': missing closing brace", pattern);
    const auto choices = choices_of(rest.substr(open + 1, close - open - 1), pattern);
    if (names.size() * choices.size() > kMostShards)
      throw Error::bad_input("'{}' names more than {} files", pattern, kMostShards);
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& choice : choices) longer.push_back(name + choice);
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  return names;
}

std::vector<std::string> find_shards(const fs::path& path, std::string_view ending) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    auto found = shards_in(path, ending);
    if (found.empty()) throw Error::bad_input("the folder {} holds no file that ends in {}", path.string(), ending);
    return found;
  }
  const bool pattern = has_braces(path) && !fs::exists(path, ignored);
  const auto names = pattern ? expand_braces(path.string()) : std::vector<std::string>{path.string()};
  for (const std::string& name : names)
    if (!fs::exists(name, ignored))
      throw Error::bad_input("{} does not exist{}", name, pattern ? ", but '" + path.string() + "' names it" : "");
  return names;
}

bool names_shards(const fs::path& path, std::string_view ending) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return !shards_in(path, ending).empty();
  return path.string().ends_with(ending) && (has_braces(path) || fs::exists(path, ignored));
}

}  // namespace ronde::data::files
