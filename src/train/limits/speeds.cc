#include "ronde/train/limits/speeds.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <vector>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "ronde/base/settings/settings.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"

namespace ronde::train {
namespace {

using Json = nlohmann::ordered_json;

// Keys that begin like one of these change how long a sample takes.
constexpr std::array kCounts = {"data.",          "device.",          "memory.arena",   "model.",
                                "optimizer.name", "train.accumulate", "train.precision"};

}  // namespace

std::string Speeds::work_of(const Settings& settings, std::string_view processor, int threads) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const std::string_view key = kSettings[i].key;
    if (std::ranges::any_of(kCounts, [&](std::string_view begin) { return key.starts_with(begin); }))
      parts.push_back(fmt::format("{}={}", key, settings.entries()[i].text));
  }
  parts.push_back(fmt::format("{} threads of {}", threads, processor));
  return join(parts, " ");
}

void Speeds::note(const std::string& work, std::int64_t batch, double samples_per_second) {
  alone_[work][batch] = samples_per_second;
}

std::optional<double> Speeds::efficiency(const std::string& work, std::int64_t batch, int ranks,
                                         double samples_per_second) const {
  const auto known = alone_.find(work);
  if (known == alone_.end()) return {};
  for (const std::int64_t candidate : {batch, batch / ranks}) {
    const auto found = known->second.find(candidate);
    if (found != known->second.end()) return samples_per_second / (ranks * found->second);
  }
  return {};
}

Speeds Speeds::parse(std::string_view text) {
  Speeds speeds;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return speeds;
  for (const auto& [work, by_batch] : json.items()) {
    if (!by_batch.is_object()) continue;
    for (const auto& [batch, speed] : by_batch.items()) {
      const auto number = parse_number<std::int64_t>(batch);
      if (number && speed.is_number() && speed.get<double>() > 0) speeds.note(work, *number, speed.get<double>());
    }
  }
  return speeds;
}

std::string Speeds::text() const {
  Json json = Json::object();
  for (const auto& [work, by_batch] : alone_)
    for (const auto& [batch, speed] : by_batch) json[work][std::to_string(batch)] = speed;
  return json_text(json) + "\n";
}

Speeds load_speeds(const std::filesystem::path& file) {
  std::ifstream in(file);
  return Speeds::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

// Beside it and renamed: two trainings that end at once leave the words of one of them.
void save_speeds(const std::filesystem::path& file, const Speeds& speeds) {
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  const std::filesystem::path beside = fmt::format("{}.{}", file.string(), getpid());
  if (!(std::ofstream(beside) << speeds.text())) return;
  std::filesystem::rename(beside, file, failure);
}

}  // namespace ronde::train
