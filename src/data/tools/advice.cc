#include "ronde/data/tools/advice.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kManyFiles = 10'000;
constexpr double kSmallFile = 256 << 10;
constexpr double kOpenSeconds = 1e-3;       // of a file on a parallel file system, by one client
constexpr double kHandingOnSeconds = 1e-6;  // of a sample from one thread to another
constexpr std::int64_t kTellingSamples = 1000;
constexpr std::int64_t kProbes = 64;

double total_bytes(const StorageFacts& facts) {
  return static_cast<double>(facts.samples) * facts.mean_bytes;
}

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(bytes));
}

bool draws(const Step& step) {
  if (const auto* map = std::get_if<steps::Map>(&step)) return map->options.random;
  if (const auto* decode = std::get_if<steps::Decode>(&step)) return decode->decoder->draws();
  return false;
}

const std::string& name_of(const Step& step) {
  const auto* map = std::get_if<steps::Map>(&step);
  return map ? map->options.name : std::get<steps::Decode>(step).options.name;
}

void advise_on_cache(const steps::Cache& cache, const Step* drawing, const StorageFacts& facts,
                     std::vector<std::string>& advice) {
  if (drawing)
    advice.push_back(
        fmt::format("cache comes after '{}', which is random: every epoch would repeat the random choices of the "
                    "first; put cache before it",
                    name_of(*drawing)));
  const double needed = total_bytes(facts);
  const double room = cache.bytes > 0 ? static_cast<double>(cache.bytes) : static_cast<double>(facts.memory_free) / 2;
  if (cache.folder.empty() && room > 0 && needed > room)
    advice.push_back(
        fmt::format("cache: the samples need {}, but the cache may use {}: {:.0f} % of them are read again in every "
                    "epoch; a folder on a local disk holds more",
                    bytes_text(needed), bytes_text(room), 100 * (1 - room / needed)));
}

}  // namespace

StorageFacts storage_facts(const Records& records, const std::filesystem::path& path) {
  StorageFacts facts{.samples = records.size(), .memory_free = topology::usable_memory()};
  std::error_code failure;
  const bool in_folder = !path.empty() && std::filesystem::is_directory(path, failure);
  if (!path.empty() && std::filesystem::exists(path, failure)) {
    const topology::FileSystem found = topology::file_system(path);
    facts.kind = found.kind;
    facts.file_system = found.type;
  }
  const std::int64_t probes = std::min(kProbes, facts.samples);
  for (std::int64_t i = 0; i < probes; ++i) try {
      const std::int64_t index = facts.samples * i / probes;
      facts.mean_bytes += static_cast<double>(records.bytes(index)) / static_cast<double>(probes);
      // A place without an offset is a file.
      facts.file_each = in_folder && records.where(index).find(" at ") == std::string::npos;
    } catch (const Error&) {  // whoever reads that sample finds out
    }
  const auto classes = static_cast<std::int64_t>(records.classes().size());
  if (facts.file_each && classes > 0) facts.class_run = facts.samples / classes;  // folders come one after the other
  return facts;
}

std::vector<std::string> advise_on_storage(const StorageFacts& facts) {
  std::vector<std::string> advice;
  const bool far =
      facts.kind == topology::FileSystem::Kind::Parallel || facts.kind == topology::FileSystem::Kind::Network;
  if (facts.file_each && far && facts.samples >= kManyFiles && facts.mean_bytes < kSmallFile)
    advice.push_back(fmt::format(
        "{} files of {} on {}: opening them takes about {} per epoch, most of it on the server that all jobs share; "
        "'ronde data pack' makes a few large files of them (on Lustre, stripe their folder first: lfs setstripe -c 8)",
        facts.samples, bytes_text(facts.mean_bytes), facts.file_system,
        format_duration(
            std::chrono::seconds(static_cast<std::int64_t>(static_cast<double>(facts.samples) * kOpenSeconds)))));
  return advice;
}

std::vector<std::string> advise_on_steps(const std::vector<Step>& steps, const StorageFacts& facts) {
  std::vector<std::string> advice = advise_on_storage(facts);
  const Step* drawing = nullptr;
  bool prefetched = false;
  for (const Step& step : steps) {
    if (prefetched && !std::holds_alternative<steps::Prefetch>(step) && !std::holds_alternative<steps::Repeat>(step))
      advice.push_back(fmt::format(
          "prefetch is not last: training waits for {}, which comes after it; put prefetch behind it", name(step)));
    if (draws(step)) drawing = &step;
    if (std::holds_alternative<steps::Prefetch>(step)) prefetched = true;
    if (const auto* cache = std::get_if<steps::Cache>(&step)) advise_on_cache(*cache, drawing, facts, advice);
    if (const auto* buffer = std::get_if<steps::ShuffleBuffer>(&step);
        buffer && facts.class_run > static_cast<std::int64_t>(buffer->samples))
      advice.push_back(
          fmt::format("shuffle_buffer holds {} samples, but about {} samples of one class are stored together: batches "
                      "would have few classes; shuffle(seed) mixes all samples and needs no memory",
                      buffer->samples, facts.class_run));
  }
  if (!prefetched && !steps.empty())
    advice.push_back("prefetch is missing: only one batch is prepared while another is used; end with prefetch()");
  return advice;
}

std::vector<std::string> advise_on_stages(const std::vector<StageStats>& stages) {
  std::vector<std::string> advice;
  for (const StageStats& stage : stages) {
    if (stage.waits || stage.samples < kTellingSamples || stage.name == "batch" || stage.name == "make") continue;
    const double each = std::chrono::duration<double>(stage.busy).count() / static_cast<double>(stage.samples);
    if (each < kHandingOnSeconds)
      advice.push_back(
          fmt::format("'{}' takes {:.2f} us per sample, less than passing the sample on: as map_batch after batch it "
                      "would be called once per batch",
                      stage.name, each * 1e6));
  }
  return advice;
}

}  // namespace ronde::data
