#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ronde/train/checkpoint.h"

// What manifest.json says. Pure, but for read_manifest().
namespace ronde::train {

inline constexpr const char* kManifestName = "manifest.json";

struct FileRecord {
  std::string name;   // in the checkpoint's folder
  std::string holds;  // "model", "optimizer" or "ema"
  std::uint64_t bytes = 0;
  std::string checksum;  // XXH64
  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

struct TensorRecord {
  std::string type;
  std::vector<std::int64_t> shape;
  friend bool operator==(const TensorRecord&, const TensorRecord&) = default;
};
using TensorRecords = std::map<std::string, TensorRecord>;
TensorRecords records_of(const TensorMap& tensors);

struct Manifest {
  CheckpointInfo info = {};
  std::vector<FileRecord> files = {};
  TensorRecords model = {}, optimizer = {}, ema = {};
};

std::string manifest_text(const Manifest& manifest);
// FAILS WITH: BadInput, naming `file`, for text that is no manifest, was changed, or is of another version.
Manifest parse_manifest(const std::string& text, const std::string& file);
// Of a checkpoint's folder. FAILS WITH: System, BadInput.
Manifest read_manifest(const std::filesystem::path& checkpoint);

// Records of files as text, for other ranks.
std::string files_text(const std::vector<FileRecord>& files);
std::vector<FileRecord> parse_files(const std::string& text);

}  // namespace ronde::train
