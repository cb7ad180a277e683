#include "ronde/data/pipeline/memory/sample_cache.h"

#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/base/text/format.h"
#include "ronde/topology/host.h"

namespace ronde::data {
namespace {

class MemoryCache : public SampleCache {
 public:
  MemoryCache(std::int64_t samples, std::size_t most) : most_(most), kept_(static_cast<std::size_t>(samples)) {}

  std::optional<Sample> find(std::int64_t index) const override {
    const auto i = static_cast<std::size_t>(index);
    const Lock lock(locks_[i % locks_.size()]);
    return kept_[i];
  }

  void put(std::int64_t index, const Sample& sample) override {
    const std::size_t bytes = sample.bytes();
    if (used_.fetch_add(bytes) + bytes > most_) {
      used_.fetch_sub(bytes);
      return;
    }
    const auto i = static_cast<std::size_t>(index);
    const Lock lock(locks_[i % locks_.size()]);
    if (kept_[i])
      used_.fetch_sub(bytes);  // another thread was first
    else
      kept_[i] = sample;
  }

  std::size_t bytes() const override { return used_; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> used_{0};
  mutable std::array<Mutex, 64> locks_;      // one for every 64th sample
  std::vector<std::optional<Sample>> kept_;  // guarded each by its own, which no annotation can say
};

}  // namespace

std::unique_ptr<SampleCache> make_memory_cache(std::int64_t samples, std::size_t most_bytes) {
  return std::make_unique<MemoryCache>(samples, most_bytes);
}

std::string identity_of(const Records& records) {
  const std::int64_t samples = records.size();
  std::string text = fmt::format("{}, {} samples", records.name(), samples);
  // A few sizes tell most changes.
  for (std::int64_t i = 0; i < std::min<std::int64_t>(samples, 16); ++i)
    text += fmt::format(" {}", records.bytes(samples * i / 16));
  return text;
}

std::unique_ptr<SampleCache> make_cache(const steps::Cache& cache, const Records& records, const std::string& steps) {
  const std::size_t free =
      cache.folder.empty()
          ? topology::usable_memory()
          : topology::file_system(cache.folder.parent_path().empty() ? "." : cache.folder.parent_path()).available;
  const std::size_t most = cache.bytes > 0 ? cache.bytes : free / 2;
  if (cache.folder.empty()) return make_memory_cache(records.size(), most);
  return make_folder_cache({.folder = cache.folder,
                            .identity = fmt::format("{}, steps{}", identity_of(records), steps),
                            .samples = records.size(),
                            .most_bytes = most});
}

}  // namespace ronde::data
