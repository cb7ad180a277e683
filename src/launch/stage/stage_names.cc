#include "ronde/launch/stage/stage_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"

namespace ronde::launch::detail {
namespace {

struct Archive {
  std::string_view ending;
  std::string_view flag;   // of tar
  std::string_view needs;  // the program that tar starts for it
};
constexpr auto kArchives = std::to_array<Archive>({{".tar", "", ""},
                                                   {".tar.gz", "--gzip", "gzip"},
                                                   {".tgz", "--gzip", "gzip"},
                                                   {".tar.zst", "--zstd", "zstd"},
                                                   {".tar.bz2", "--bzip2", "bzip2"},
                                                   {".tar.xz", "--xz", "xz"},
                                                   {".zip", "", ""}});

const Archive* archive_of(std::string_view file) {
  for (const Archive& archive : kArchives)
    if (file.size() > archive.ending.size() && file.ends_with(archive.ending)) return &archive;
  return nullptr;
}

// "data/" has an empty file name; its name is that of the folder.
std::string last_part(const std::filesystem::path& path) {
  const auto clean = path.lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).filename();
}

}  // namespace

FromTo parse_from_to(std::string_view text, std::string_view flag) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos && !text.empty()) return {std::string(text), ""};
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size())
    throw Error::bad_input("{} {}: write a path, or two paths with a colon between them", flag,
                           text.empty() ? "''" : text);
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::optional<Unpacker> unpacker_for(const std::filesystem::path& file) {
  const Archive* archive = archive_of(file.filename().string());
  if (!archive) return {};
  if (archive->ending == ".zip")
    return Unpacker{.command = {"unzip", "-q", "-o", "{source}", "-d", "{folder}"}, .needs = "", .reads_input = false};
  Unpacker unpacker{.command = {"tar", "--extract", "--file=-", "--directory={folder}", "--no-same-owner"},
                    .needs = std::string(archive->needs)};
  if (!archive->flag.empty()) unpacker.command.emplace_back(archive->flag);
  return unpacker;
}

std::string name_of(const std::filesystem::path& path) {
  std::string name = last_part(path);
  if (name.empty() || name == "." || name == "..")
    throw Error::bad_input("{} has no file name that ranks can use; write {}:NAME", path.string(), path.string());
  if (const Archive* archive = archive_of(name)) name.resize(name.size() - archive->ending.size());
  return name;
}

std::string variable_for(std::string_view start, std::string_view name) {
  std::string variable(start);
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    variable += std::isalnum(byte) ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return variable;
}

std::string substitute(std::string_view text, std::string_view word, const std::vector<NamedPath>& placements) {
  const std::string start = fmt::format("{{{}", word);
  std::string result;
  for (auto at = text.find(start); at != std::string_view::npos; at = text.find(start)) {
    const auto end = text.find('}', at);
    const std::string_view rest = text.substr(at + start.size(), end - at - start.size());
    if (end == std::string_view::npos || !(rest.empty() || rest.front() == ':')) {  // something else in braces
      result += text.substr(0, at + start.size());
      text.remove_prefix(at + start.size());
      continue;
    }
    const auto named = [&](const NamedPath& placement) { return rest.empty() || placement.name == rest.substr(1); };
    const auto found = std::ranges::find_if(placements, named);
    if (found == placements.end())
      throw Error::bad_input("{} in the command: no --{} has that name", text.substr(at, end + 1 - at), word);
    result += text.substr(0, at);
    result += found->path.string();
    text.remove_prefix(end + 1);
  }
  return result + std::string(text);
}

std::filesystem::path choose_folder(const std::vector<Candidate>& candidates, std::uint64_t needed,
                                    std::string_view what) {
  std::string refused;
  for (const Candidate& candidate : candidates) {
    if (candidate.writable && candidate.available >= needed) return candidate.folder;
    refused += refused.empty() ? "" : ", ";
    refused += fmt::format(
        "{} {}", candidate.folder.string(),
        candidate.writable ? fmt::format("has {}", format_bytes(candidate.available)) : "cannot be written to");
  }
  throw Error::bad_input("not enough space on this node for {}, {}: {}; choose another folder with --stage-to", what,
                         format_bytes(needed), refused);
}

}  // namespace ronde::launch::detail
