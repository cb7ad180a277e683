#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the words of --stage and --unstage mean. All pure.
namespace ronde::launch::detail {

// "SRC" or "SRC:DEST"; the last colon counts.
struct FromTo {
  std::filesystem::path from;
  std::string to;  // empty: not said
};
// FAILS WITH: BadInput, naming `flag`, when a part is empty.
FromTo parse_from_to(std::string_view text, std::string_view flag);

// How a file that holds others is unpacked: the program and its arguments, for a source that is read from standard
// input or, where the program must jump about in it, by name.
struct Unpacker {
  std::vector<std::string> command;  // "{source}" and "{folder}" are to be replaced
  std::string needs;                 // another program that must be there; empty: none
  bool reads_input = true;
};
// Absent: not an archive, to be copied as it is.
std::optional<Unpacker> unpacker_for(const std::filesystem::path& file);

// What ranks know it by: the last part of a path, without what makes it an archive. "/data/imagenet.tar.gz":
// "imagenet". FAILS WITH: BadInput for a path without one, such as "/".
std::string name_of(const std::filesystem::path& path);

// "STAGE_DIR_" + name in capitals, other signs as underscores.
std::string variable_for(std::string_view start, std::string_view name);

// Where a piece of data that ranks are told about lies.
struct NamedPath {
  std::string name;
  std::filesystem::path path;
};
// Replaces "{word}" by the first path and "{word:name}" by that of the name, everywhere.
// FAILS WITH: BadInput for a name that is none.
std::string substitute(std::string_view text, std::string_view word, const std::vector<NamedPath>& placements);

// A folder that data may go to.
struct Candidate {
  std::filesystem::path folder;
  std::uint64_t available = 0;  // bytes
  bool writable = true;
};
// The first that takes `needed` bytes.
// FAILS WITH: BadInput, naming each and what it has.
std::filesystem::path choose_folder(const std::vector<Candidate>& candidates, std::uint64_t needed,
                                    std::string_view what);

}  // namespace ronde::launch::detail
