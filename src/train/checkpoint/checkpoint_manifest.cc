#include "ronde/train/checkpoint/checkpoint_manifest.h"

#include <cerrno>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/json_text.h"
#include "ronde/train/checkpoint/checkpoint_checksum.h"

namespace ronde::train {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr const char* kChecksum = "xxh64";

std::string checksum_of(const std::string& text) {
  Checksum checksum;
  checksum.add(std::as_bytes(std::span(text)));
  return checksum.text();
}

Json to_json(const std::vector<FileRecord>& files) {
  Json list = Json::array();
  for (const FileRecord& file : files)
    list.push_back({{"name", file.name}, {"holds", file.holds}, {"bytes", file.bytes}, {kChecksum, file.checksum}});
  return list;
}

Json to_json(const TensorRecords& tensors) {
  Json list = Json::object();
  for (const auto& [name, tensor] : tensors) list[name] = {{"type", tensor.type}, {"shape", tensor.shape}};
  return list;
}

std::vector<FileRecord> files_of(const Json& list) {
  std::vector<FileRecord> files;
  for (const Json& file : list)
    files.push_back({.name = file.at("name").get<std::string>(),
                     .holds = file.at("holds").get<std::string>(),
                     .bytes = file.at("bytes").get<std::uint64_t>(),
                     .checksum = file.at(kChecksum).get<std::string>()});
  return files;
}

TensorRecords tensors_of(const Json& list) {
  TensorRecords tensors;
  for (const auto& [name, tensor] : list.items())
    tensors[name] = {tensor.at("type").get<std::string>(), tensor.at("shape").get<std::vector<std::int64_t>>()};
  return tensors;
}

CheckpointInfo info_of(const Json& json) {
  return {.step = json.at("step").get<std::int64_t>(),
          .epoch = json.at("epoch").get<std::int64_t>(),
          .samples = json.at("samples").get<std::int64_t>(),
          .seed = json.at("seed").get<std::uint64_t>(),
          .ranks = json.at("ranks").get<int>(),
          .settings = json.at("settings").get<std::map<std::string, std::string>>(),
          .extra = json.at("extra").get<std::map<std::string, std::string>>()};
}

// A checkpoint without a moving average says nothing of one, as those of older versions.
Json to_json(const Manifest& manifest) {
  Json tensors = {{"model", to_json(manifest.model)}, {"optimizer", to_json(manifest.optimizer)}};
  if (!manifest.ema.empty()) tensors["ema"] = to_json(manifest.ema);
  return tensors;
}

Manifest manifest_of(Json json, const std::string& file) {
  if (const int format = json.at("format").get<int>(); format != kFormat)
    throw Error::bad_input("{} has format {}, but this version of Ronde reads format {}", file, format, kFormat);
  const std::string checksum = json.at(kChecksum).get<std::string>();
  json.erase(kChecksum);
  if (checksum != checksum_of(json_text(json)))
    throw Error::bad_input("{} has changed since it was written: its checksum does not match", file);
  return {.info = info_of(json),
          .files = files_of(json.at("files")),
          .model = tensors_of(json.at("tensors").at("model")),
          .optimizer = tensors_of(json.at("tensors").at("optimizer")),
          .ema = tensors_of(json.at("tensors").value("ema", Json::object()))};
}

}  // namespace

TensorRecords records_of(const TensorMap& tensors) {
  TensorRecords records;
  for (const auto& [name, tensor] : tensors)
    records[name] = {torch::toString(tensor.scalar_type()), tensor.sizes().vec()};
  return records;
}

std::string manifest_text(const Manifest& manifest) {
  Json json = {{"format", kFormat},
               {"step", manifest.info.step},
               {"epoch", manifest.info.epoch},
               {"samples", manifest.info.samples},
               {"seed", manifest.info.seed},
               {"ranks", manifest.info.ranks},
               {"settings", manifest.info.settings},
               {"extra", manifest.info.extra},
               {"files", to_json(manifest.files)},
               {"tensors", to_json(manifest)}};
  // Through text and back, so that the reader, who has only the text, finds the same checksum.
  json = Json::parse(json_text(json));
  json[kChecksum] = checksum_of(json_text(json));
  return json_text(json) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error::bad_input("{}: not a checkpoint manifest, or truncated", file);
  try {
    return manifest_of(std::move(json), file);
  } catch (const Json::exception& error) {
    throw Error::bad_input("{}: not a checkpoint manifest: {}", file, error.what());
  }
}

Manifest read_manifest(const std::filesystem::path& checkpoint) {
  const auto file = checkpoint / kManifestName;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error::system(errno, "cannot read {}", file.string());
  return parse_manifest({std::istreambuf_iterator<char>(in), {}}, file.string());
}

std::string files_text(const std::vector<FileRecord>& files) {
  return to_json(files).dump();
}

std::vector<FileRecord> parse_files(const std::string& text) {
  return files_of(Json::parse(text));
}

}  // namespace ronde::train
