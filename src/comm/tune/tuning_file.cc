#include "ronde/comm/tune/tuning_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/json_text.h"

namespace ronde::comm::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  throw Error(Error::Kind::System, fmt::format("{} cannot be {}: {}", path, what, std::strerror(errno)));
}

std::size_t size_at(const Json& json, const char* key) {
  if (!json.at(key).is_number_unsigned()) throw Error::bad_input("'{}' is not a number of bytes", key);
  return json.at(key).get<std::size_t>();
}

TuningRecord record_of(const Json& json) {
  return {.nodes = json.at("nodes"),
          .ranks = json.at("ranks"),
          .step_bytes = size_at(json, "step_bytes"),
          .fusion_bytes = size_at(json, "fusion_bytes"),
          .first_bucket_bytes = size_at(json, "first_bucket_bytes"),
          .algorithm = json.at("algorithm"),
          .chosen_us = json.at("chosen_us"),
          .default_us = json.at("default_us")};
}

}  // namespace

std::string write_tunings(const std::vector<TuningRecord>& records) {
  Json json = {{"what", "ronde autotune"}, {"version", kVersion}, {"records", Json::array()}};
  for (const TuningRecord& record : records)
    json["records"].push_back({{"nodes", record.nodes},
                               {"ranks", record.ranks},
                               {"step_bytes", record.step_bytes},
                               {"fusion_bytes", record.fusion_bytes},
                               {"first_bucket_bytes", record.first_bucket_bytes},
                               {"algorithm", record.algorithm},
                               {"chosen_us", record.chosen_us},
                               {"default_us", record.default_us}});
  return json_text(json) + "\n";
}

std::vector<TuningRecord> read_tunings(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error::bad_input("not valid JSON");
  if (!json.is_object() || json.value("what", Json()) != "ronde autotune")
    throw Error::bad_input("not a file of 'ronde autotune'");
  if (json.value("version", Json()) != kVersion) throw Error::bad_input("its version is not {}", kVersion);
  try {
    std::vector<TuningRecord> records;
    for (const Json& record : json.at("records")) records.push_back(record_of(record));
    return records;
  } catch (const Json::exception& error) {
    throw Error::bad_input("invalid record: {}", error.what());
  }
}

std::optional<std::vector<TuningRecord>> load_tunings(const std::string& path) {
  std::ifstream file(path);
  if (!file && errno == ENOENT) return {};
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) fail(path, "read");
  try {
    return read_tunings(text.str());
  } catch (const Error& error) {
    throw Error::bad_input("{} holds no autotune results: {}", path, error.what());
  }
}

void save_tuning(const std::string& path, const TuningRecord& record) {
  auto records = load_tunings(path).value_or(std::vector<TuningRecord>());
  std::erase_if(records, [&](const TuningRecord& other) { return other.same_shape(record); });
  records.push_back(record);
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  {
    std::ofstream file(fresh);
    if (!(file << write_tunings(records)) || !file.flush()) fail(fresh, "written");
  }
  std::error_code trouble;
  std::filesystem::rename(fresh, path, trouble);
  if (trouble) fail(path, "written");
}

}  // namespace ronde::comm::detail
