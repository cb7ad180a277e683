#include "ronde/base/system/rates_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/cache.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"

namespace ronde {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

// Every number of the file, and where it belongs.
constexpr std::pair<const char*, double MachineRates::*> kRates[] = {
    {"f32_tflops", &MachineRates::f32},
    {"tf32_tflops", &MachineRates::tf32},
    {"bf16_tflops", &MachineRates::bf16},
    {"f16_tflops", &MachineRates::f16},
    {"memory_gb_s", &MachineRates::memory_gb_s},
    {"memory_gb", &MachineRates::memory_gb},
    {"host_gb_s", &MachineRates::host_gb_s},
    {"peer_gb_s", &MachineRates::peer_gb_s},
    {"disk_gb_s", &MachineRates::disk_gb_s},
    {"allreduce_us", &MachineRates::allreduce_us},
    {"allreduce_gb_s", &MachineRates::allreduce_gb_s},
};

double number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) throw Error::bad_input("'{}' is missing", key);
  if (!found->is_number()) throw Error::bad_input("'{}' is not a number", key);
  const double value = found->get<double>();
  if (!std::isfinite(value) || value < 0)
    throw Error::bad_input("'{}' must be a finite number of at least 0, got {}", key, value);
  return value;
}

Json parsed(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw Error::bad_input("cannot read {}; 'ronde bench roofline' writes such a file", file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  return Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
}

// FNV-1a: a file's name must be the same on every machine and in every version.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::filesystem::path default_roofline(const Environment& environment) {
  const std::filesystem::path folder = cache_folder(environment);
  return folder.empty() ? folder : folder / "roofline.json";
}

std::filesystem::path kept_rates(const Environment& environment, std::string_view key) {
  const std::filesystem::path folder = cache_folder(environment);
  return folder.empty() ? folder : folder / fmt::format("rates-{:016x}.json", hash_of(key));
}

nlohmann::ordered_json rates_to_json(const MachineRates& rates) {
  Json json = {{"roofline", kVersion},
               {"name", rates.name},
               {"kind", rates.kind == Hardware::Kind::Gpu ? "gpu" : "cpu"},
               {"allreduce_ranks", rates.allreduce_ranks}};
  for (const auto& [key, member] : kRates) json[key] = rates.*member;
  return json;
}

MachineRates rates_from_json(const nlohmann::ordered_json& json) {
  if (!json.is_object() || !json.contains("roofline") || json["roofline"] != kVersion)
    throw Error::bad_input("not a file written by 'ronde bench roofline' of this version");
  MachineRates rates;
  if (!json.contains("name") || !json["name"].is_string()) throw Error::bad_input("'name' is missing");
  rates.name = json["name"].get<std::string>();
  const Json kind = json.value("kind", Json(nullptr));
  if (kind != "gpu" && kind != "cpu") throw Error::bad_input("'kind' is neither gpu nor cpu");
  rates.kind = kind == "gpu" ? Hardware::Kind::Gpu : Hardware::Kind::Cpu;
  rates.allreduce_ranks = static_cast<int>(std::min(1e6, number_of(json, "allreduce_ranks")));
  for (const auto& [key, member] : kRates) rates.*member = number_of(json, key);
  return rates;
}

void write_rates(const MachineRates& rates, const std::filesystem::path& file, std::string_view key) {
  std::error_code failure;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), failure);
  Json json = rates_to_json(rates);
  if (!key.empty()) json["key"] = key;
  // Nodes that share a home may write at once.
  const std::filesystem::path beside = fmt::format("{}.{}.tmp", file.string(), getpid());
  std::ofstream stream(beside);
  stream << json_text(json) << "\n";
  stream.close();
  const int reason = errno;
  if (stream) std::filesystem::rename(beside, file, failure);
  if (stream && !failure) return;
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  throw Error::system(stream ? failure.value() : reason, "cannot write {}", file.string());
}

MachineRates read_rates(const std::filesystem::path& file) {
  const Json json = parsed(file);
  try {
    return rates_from_json(json);
  } catch (const Error& error) {
    throw Error::bad_input("{}: {}", file.string(), error.message());
  }
}

std::optional<MachineRates> find_rates(const std::filesystem::path& file, std::string_view key) {
  std::error_code failure;
  if (file.empty() || !std::filesystem::is_regular_file(file, failure)) return {};
  try {
    const Json json = parsed(file);
    if (!json.is_object() || json.value("key", Json()) != key) return {};
    return rates_from_json(json);
  } catch (const Error&) {  // nothing to stop for: it is measured again
    return {};
  }
}

}  // namespace ronde
