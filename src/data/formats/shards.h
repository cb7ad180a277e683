#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::data::files {

// Which files of a folder belong to a data set that is kept in several: by their endings, and by numbers as
// train-00003-of-01024 has them.
struct ShardKind {
  std::string what = {};                  // "TFRecord", for errors
  std::vector<std::string> endings = {};  // ".tfrecord"
  bool numbered = false;                  // NAME-00003-of-01024 counts too, without any ending
};

// The files that `path` means, in order: a file; a folder of them; a pattern of the last name, with * and ?, or with
// {0000..0123}, each of which must be there (see shard_names.h).
// FAILS WITH: BadInput: none, several sets in one folder (which are then named), a number of a set that is missing.
std::vector<std::string> find_shards(const std::filesystem::path& path, const ShardKind& kind);

// Parts of the above. Pure.
bool is_shard(std::string_view name, const ShardKind& kind);
bool matches(std::string_view name, std::string_view pattern);  // * and ?
// What must hold for names that say "of N": one set only, and all of it. `folder` is for the message.
// FAILS WITH: BadInput.
void check_complete(std::span<const std::string> names, const std::string& folder);

}  // namespace ronde::data::files
