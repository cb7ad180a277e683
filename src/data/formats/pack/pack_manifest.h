#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::data::files {

struct PackShardFacts {
  std::string file;  // its name in the folder
  std::int64_t samples = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC32C of the whole file
  friend bool operator==(const PackShardFacts&, const PackShardFacts&) = default;
};

// A sample that could not be packed.
struct PackSkipped {
  std::int64_t index = 0;  // in the source
  std::string where, why;
  friend bool operator==(const PackSkipped&, const PackSkipped&) = default;
};

// What pack.json says of a pack; and, while it is being made, pack.partial.json of what is finished of it.
struct PackManifest {
  std::vector<std::string> classes = {};
  std::vector<PackShardFacts> shards = {};
  std::vector<PackSkipped> skipped = {};
  std::string made = {};  // from what and how, in words that compare equal for the same pack
  std::int64_t next = 0;  // how many samples of the source it is made of

  std::int64_t samples() const;
  std::uint64_t bytes() const;
  friend bool operator==(const PackManifest&, const PackManifest&) = default;
};

std::string to_json(const PackManifest& manifest);

// FAILS WITH: BadInput that names the file: no JSON (with the byte), not a pack, of a newer version, a value that is
// missing or cannot be, a shard outside of the folder.
PackManifest parse_pack_manifest(std::string_view text, const std::string& name);

}  // namespace ronde::data::files
