#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/data/formats/pack/pack_format.h"
#include "ronde/data/formats/pack/pack_manifest.h"

// Packs on a disk, as far as reading them by sample or from front to back has it in common.
namespace ronde::data::files {

constexpr const char* kPackManifest = "pack.json";
constexpr const char* kPackPartial = "pack.partial.json";

// The manifest of a folder, or what stands for one of a single shard. Looks whether all shards are there.
// FAILS WITH: BadInput, System.
struct PackSet {
  std::filesystem::path folder;
  PackManifest manifest;
  std::vector<std::string> paths() const;
};
PackSet load_pack(const std::filesystem::path& path);

// Reads header, footer and index. FAILS WITH: BadInput, System.
PackIndex load_pack_index(const FileDescriptor& file, const std::string& path);

// CRC32C of all bytes of a file. FAILS WITH: BadInput, System.
std::uint32_t checksum_of_file(const std::string& path);

Error wrong_record(const std::string& path, const PackIndex::Place& place, std::int64_t record);

}  // namespace ronde::data::files
