#include "ronde/data/formats/shards.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/shard_names.h"

namespace ronde::data::files {
namespace {

constexpr std::uint64_t kMostShards = 1'000'000;

// train-00003-of-01024.tfrecord: what stands before, the number, of how many (as written), and what stands after.
struct Numbered {
  std::string_view before, number, all, after;
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

std::optional<Numbered> parse_numbered(std::string_view name) {
  constexpr std::string_view kOf = "-of-";
  const std::size_t of = name.rfind(kOf);
  if (of == std::string_view::npos) return {};
  std::size_t begin = of, end = of + kOf.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  while (end < name.size() && is_digit(name[end])) ++end;
  const Numbered found{name.substr(0, begin), name.substr(begin, of - begin),
                       name.substr(of + kOf.size(), end - of - kOf.size()), name.substr(end)};
  if (found.number.empty() || found.all.empty() || !found.before.ends_with('-')) return {};
  if (!found.after.empty() && found.after[0] != '.') return {};
  return found;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::error_code failure;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(folder, failure);
  if (failure) throw Error::system(failure.value(), "cannot read the folder {}", folder.string());
  for (const auto& entry : entries)
    if (const std::string name = entry.path().filename().string(); !name.starts_with('.')) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::filesystem::path or_here(const std::filesystem::path& folder) {
  return folder.empty() ? std::filesystem::path(".") : folder;
}

std::vector<std::string> in_folder(const std::filesystem::path& folder, std::span<const std::string> names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back((folder / name).string());
  return paths;
}

}  // namespace

bool is_shard(std::string_view name, const ShardKind& kind) {
  if (kind.numbered)
    if (const auto numbered = parse_numbered(name); numbered && numbered->after.empty()) return true;
  return std::ranges::any_of(kind.endings, [&](const std::string& ending) { return name.ends_with(ending); });
}

bool matches(std::string_view name, std::string_view pattern) {
  // Where to go on from when the last * has to take one letter more.
  std::size_t at = 0, in = 0, star = std::string_view::npos, taken = 0;
  while (at < name.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      taken = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == name[at])) {
      ++in, ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') ++in;
  return in == pattern.size();
}

void check_complete(std::span<const std::string> names, const std::string& folder) {
  std::map<std::string, std::vector<Numbered>> sets;
  std::vector<std::string> patterns;
  for (const std::string& name : names)
    if (const auto one = parse_numbered(name))
      sets[fmt::format("{}*-of-{}{}", one->before, one->all, one->after)].push_back(*one);
  for (const auto& [pattern, shards] : sets) {
    patterns.push_back(pattern);
    const auto all = parse_number<std::uint64_t>(shards.front().all);
    if (!all || *all == 0 || *all > kMostShards)
      throw Error::bad_input("{}: invalid number of shards in {}", folder, pattern);
    std::set<std::uint64_t> there;
    for (const Numbered& one : shards) there.insert(parse_number<std::uint64_t>(one.number).value_or(UINT64_MAX));
    for (std::uint64_t number = 0; number < *all; ++number)
      if (!there.contains(number))
        throw Error::bad_input("{}: shard {}{:0{}}-of-{}{} is missing; {} of {} are there", folder,
                               shards.front().before, number, shards.front().number.size(), shards.front().all,
                               shards.front().after, there.size(), *all);
    if (*there.rbegin() >= *all)
      throw Error::bad_input("{}: found shard {} of {}, but shards count from 0", folder, *there.rbegin(), *all);
  }
  if (sets.size() > 1)
    throw Error::bad_input("{} holds {} sets of shards: choose one with {}/{}", folder, sets.size(), folder,
                           join(patterns, " or "));
}

std::vector<std::string> find_shards(const std::filesystem::path& path, const ShardKind& kind) {
  std::error_code ignored;
  const std::string last = path.filename().string();
  if (std::filesystem::is_directory(path, ignored)) {
    auto names = names_in(path);
    std::erase_if(names, [&](const std::string& name) { return !is_shard(name, kind); });
    if (names.empty())
      throw Error::bad_input("{} holds no {} file ({}{})", path.string(), kind.what, join(kind.endings, ", "),
                             kind.numbered ? ", NAME-00000-of-01024" : "");
    check_complete(names, path.string());
    return in_folder(path, names);
  }
  if (std::filesystem::exists(path, ignored)) return {path.string()};
  if (last.find('{') != std::string::npos) return find_shards(path, kind.endings.front());
  if (last.find_first_of("*?") == std::string::npos) throw Error::bad_input("{} does not exist", path.string());
  auto names = names_in(or_here(path.parent_path()));
  std::erase_if(names, [&](const std::string& name) { return !matches(name, last); });
  if (names.empty()) throw Error::bad_input("no file matches {}", path.string());
  check_complete(names, or_here(path.parent_path()).string());
  return in_folder(path.parent_path(), names);
}

}  // namespace ronde::data::files
