#include "ronde/report/run/job_facts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/format.h"
#include "ronde/report/run/numbers.h"
#include "ronde/trace/fact_names.h"
#include "ronde/trace/span_names.h"

namespace ronde::report {
namespace {

using Json = nlohmann::json;
using trace::RankTrace;

std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number(const Json& json, const char* key) {
  const auto found = json.find(key);
  const double value = found != json.end() && found->is_number() ? found->get<double>() : 0;
  return std::isfinite(value) && value > 0 && value < 1e18 ? value : 0;
}

// A rank's metadata of that key. Null: there is none, or it is no JSON of the right kind.
Json read(const RankTrace& rank, const char* key, bool is_list, std::vector<std::string>& problems) {
  const auto found = rank.metadata.find(key);
  if (found == rank.metadata.end()) return {};
  Json json = Json::parse(found->second, nullptr, false);
  if (!json.is_discarded() && (is_list ? json.is_array() : json.is_object())) return json;
  problems.push_back(fmt::format("cannot read what rank {} recorded about '{}'", rank.rank, key));
  return {};
}

void read_job(const Json& json, JobFacts& facts) {
  facts.recipe = text(json, "recipe");
  facts.network = text(json, "network");
  facts.data = text(json, "data");
  facts.precision = text(json, "precision");
  facts.optimizer = text(json, "optimizer");
  facts.device = text(json, "device");
  facts.processor = text(json, "processor");
  facts.batch = static_cast<std::int64_t>(number(json, "batch"));
  facts.samples = static_cast<std::int64_t>(number(json, "samples"));
  facts.parameters = static_cast<std::int64_t>(number(json, "parameters"));
  facts.threads = static_cast<int>(std::min(number(json, "threads"), 1e6));
  facts.cores = static_cast<int>(std::min(number(json, "cores"), 1e6));
  if (const auto found = json.find("settings"); found != json.end() && found->is_object())
    for (const auto& [key, value] : found->items())
      if (value.is_string()) facts.settings[key] = value.get<std::string>();
}

// What of a program nobody could record: it belongs to what is to be known about the report.
void read_not_seen(const Json& json, std::vector<std::string>& problems) {
  const auto found = json.find("not_seen");
  if (found == json.end() || !found->is_array()) return;
  for (const Json& one : *found)
    if (one.is_string()) problems.push_back("not in the trace: " + one.get<std::string>());
}

void read_layers(const Json& json, JobFacts& facts) {
  for (const Json& layer : json)
    if (layer.is_object())
      facts.layers.push_back({.name = text(layer, "name"),
                              .operation = text(layer, "operation"),
                              .flops = number(layer, "flops"),
                              .bytes = number(layer, "bytes"),
                              .parameters = number(layer, "parameters")});
}

void read_rates_of(const RankTrace& rank, JobFacts& facts, std::vector<std::string>& problems) {
  const Json json = read(rank, trace::metadata_names::kMachineRates, false, problems);
  if (facts.rates || json.is_null()) return;
  try {
    facts.rates = rates_from_json(json);
  } catch (const Error& error) {
    problems.push_back(fmt::format("cannot use what rank {} recorded about '{}': {}", rank.rank,
                                   trace::metadata_names::kMachineRates, error.message()));
  }
}

// Of the host and of devices: the most that a rank used, and the least that one may use. 0: not known.
struct Memory {
  double used = 0, limit = 0;
};

void read_memory(const trace::Run& run, const RankTrace& rank, std::string_view counter, Memory& memory) {
  const auto name = run.names.find(counter);
  for (const trace::CounterSeries& series : rank.counters)
    if (series.name == name)
      for (const auto& point : series.points) memory.used = std::max(memory.used, point.value);
}

void read_limit(const Json& facts, const char* key, Memory& memory) {
  const double limit = number(facts, key);
  if (limit > 0) memory.limit = memory.limit > 0 ? std::min(memory.limit, limit) : limit;
}

// Ranks that fail because another did repeat its sentence in their own.
void read_failure(const RankTrace& rank, JobFacts& facts) {
  const auto found = rank.metadata.find(trace::kFailure);
  if (found == rank.metadata.end()) return;
  std::string text = found->second;
  while (text.ends_with('.') || text.ends_with('\n')) text.pop_back();
  if (facts.failure && facts.failure->text.find(text) == std::string::npos) return;
  facts.failure = Failure{.text = std::move(text), .seconds = seconds(rank.time.end)};
}

bool is_one_of(const std::optional<std::string>& text, std::initializer_list<std::string_view> words) {
  return text && std::ranges::find(words, *text) != words.end();
}

}  // namespace

std::optional<std::string> setting(const JobFacts& facts, const std::string& key) {
  const auto found = facts.settings.find(key);
  return found == facts.settings.end() ? std::nullopt : std::optional(found->second);
}

// As setting.cc reads them.
bool is_off(const JobFacts& facts, const std::string& key) {
  return is_one_of(setting(facts, key), {"false", "off", "no", "0"});
}

bool is_on(const JobFacts& facts, const std::string& key) {
  return is_one_of(setting(facts, key), {"true", "on", "yes", "1"});
}

JobFacts facts_of(const trace::Run& run, std::vector<std::string>& problems) {
  JobFacts facts;
  std::set<std::string> hosts;
  Memory host, device;
  for (const RankTrace& rank : run.ranks) {
    hosts.insert(rank.host);
    if (facts.network.empty()) {
      if (const Json job = read(rank, trace::metadata_names::kJob, false, problems); !job.is_null()) {
        read_job(job, facts);
        read_not_seen(job, problems);
      }
      if (const Json layers = read(rank, trace::metadata_names::kLayers, true, problems); !layers.is_null())
        read_layers(layers, facts);
    }
    read_rates_of(rank, facts, problems);
    if (const Json own = read(rank, trace::metadata_names::kRankFacts, false, problems); !own.is_null()) {
      if (own.contains("bound")) facts.bound[rank.rank] = text(own, "bound");
      if (const double clock = number(own, "clock_ghz"); clock > 0) facts.clock_ghz[rank.rank] = clock;
      read_limit(own, "memory_limit_bytes", host);
      read_limit(own, "device_memory_bytes", device);
    }
    read_memory(run, rank, trace::counter_names::kMemory, host);
    read_memory(run, rank, trace::counter_names::kDeviceMemory, device);
    read_failure(rank, facts);
    if (!rank.ended) facts.cut_off.push_back(rank.rank);
  }
  const Memory& memory = device.used > 0 ? device : host;  // where a device trains, the network is in its memory
  facts.memory_bytes = memory.used;
  facts.memory_limit_bytes = memory.limit;
  facts.nodes = static_cast<int>(hosts.size());
  return facts;
}

}  // namespace ronde::report
