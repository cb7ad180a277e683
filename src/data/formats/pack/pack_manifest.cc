#include "ronde/data/formats/pack/pack_manifest.h"

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/json_reader.h"
#include "ronde/data/formats/pack/pack_format.h"

namespace ronde::data::files {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "ronde-pack";
constexpr std::int64_t kMost = JsonReader::kMost;

PackShardFacts shard_of(const Json& json, const std::string& name) {
  const JsonReader reader(json, name);
  PackShardFacts shard{.file = reader.text("file"),
                       .samples = reader.count("samples"),
                       .bytes = static_cast<std::uint64_t>(reader.count("bytes"))};
  if (shard.file.empty() || shard.file.starts_with('.') || shard.file.find('/') != std::string::npos ||
      shard.file.find('\0') != std::string::npos)
    throw reader.wrong("file", "is not the name of a file in the same folder");
  const std::string crc = reader.text("crc32c");
  const auto parsed = std::from_chars(crc.data(), crc.data() + crc.size(), shard.crc, 16);
  if (parsed.ec != std::errc() || parsed.ptr != crc.data() + crc.size())
    throw reader.wrong("crc32c", "is not a checksum");
  return shard;
}

}  // namespace

std::int64_t PackManifest::samples() const {
  std::int64_t sum = 0;
  for (const PackShardFacts& shard : shards) sum += shard.samples;
  return sum;
}

std::uint64_t PackManifest::bytes() const {
  std::uint64_t sum = 0;
  for (const PackShardFacts& shard : shards) sum += shard.bytes;
  return sum;
}

std::string to_json(const PackManifest& manifest) {
  Json json{{"format", kFormat},          {"version", kPackVersion}, {"samples", manifest.samples()},
            {"bytes", manifest.bytes()},  {"made", manifest.made},   {"taken", manifest.next},
            {"classes", manifest.classes}};
  json["shards"] = Json::array();
  for (const PackShardFacts& shard : manifest.shards)
    json["shards"].push_back({{"file", shard.file},
                              {"samples", shard.samples},
                              {"bytes", shard.bytes},
                              {"crc32c", fmt::format("{:08x}", shard.crc)}});
  json["skipped"] = Json::array();
  for (const PackSkipped& one : manifest.skipped)
    json["skipped"].push_back({{"index", one.index}, {"where", one.where}, {"why", one.why}});
  return json_text(json) + "\n";
}

PackManifest parse_pack_manifest(std::string_view text, const std::string& name) {
  const Json json = parse_json(text, name);
  const JsonReader reader(json, name);
  if (reader.text("format") != kFormat) throw Error::bad_input("{}: not a pack manifest", name);
  if (const std::int64_t version = reader.count("version"); version > kPackVersion)
    throw Error::bad_input("{} has version {}, but this Ronde reads packs up to version {}: use a newer Ronde", name,
                           version, kPackVersion);
  PackManifest manifest{.made = reader.text("made"), .next = reader.count("taken")};
  for (const Json& one : reader.list("classes")) {
    if (!one.is_string()) throw reader.wrong("classes", "holds a value that is not a string");
    manifest.classes.push_back(one.get<std::string>());
  }
  for (const Json& one : reader.list("shards")) {
    manifest.shards.push_back(shard_of(one, name));
    if (manifest.samples() > kMost || manifest.bytes() > static_cast<std::uint64_t>(kMost))
      throw reader.wrong("shards", "adds up to more than fits into a number");
  }
  if (manifest.samples() != reader.count("samples")) throw reader.wrong("samples", "is not the sum over the shards");
  for (const Json& one : reader.list("skipped")) {
    const JsonReader skipped(one, name);
    manifest.skipped.push_back({skipped.count("index"), skipped.text("where"), skipped.text("why")});
  }
  return manifest;
}

}  // namespace ronde::data::files
