#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::data::files {

// "data-{000..012}.tar" as thirteen names, "{a,b}.tar" as two; several braces give every combination, the last one
// fastest. Text without braces is itself. Pure.
// FAILS WITH: BadInput: a brace that is not closed, a range that is none or names more than a million files.
std::vector<std::string> expand_braces(std::string_view pattern);

// The files that a path means: itself; all that end in `ending` in a folder, sorted by name; or a pattern with braces.
// FAILS WITH: BadInput: not there (a missing shard of a pattern is named), none in the folder; System.
std::vector<std::string> find_shards(const std::filesystem::path& path, std::string_view ending);

// Whether a path means files that end so.
bool names_shards(const std::filesystem::path& path, std::string_view ending);

}  // namespace ronde::data::files
