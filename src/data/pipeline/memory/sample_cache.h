#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ronde/data/records.h"
#include "ronde/data/sample.h"
#include "ronde/data/steps.h"

namespace ronde::data {

// Samples that were made once and are kept, by index. It fills up and never throws anything out: what does not fit is
// made anew each time, so that an epoch always finds the same share in it. Safe to call from any thread.
class SampleCache {
 public:
  virtual ~SampleCache() = default;
  virtual std::optional<Sample> find(std::int64_t index) const = 0;
  virtual void put(std::int64_t index, const Sample& sample) = 0;
  virtual std::size_t bytes() const = 0;  // that it holds
};

std::unique_ptr<SampleCache> make_memory_cache(std::int64_t samples, std::size_t most_bytes);

struct FolderCacheOptions {
  std::filesystem::path folder = {};
  std::string identity = {};  // what the samples are: a cache of something else is refused
  std::int64_t samples = 0;
  std::size_t most_bytes = 0;
  bool for_now = false;  // goes with the last process that uses it
};
// In files, for all processes of a node: each writes into a file of its own and into an index that all of them map.
// Stays when the job ends, and serves the next one. FAILS WITH: BadInput when the folder is the cache of other samples;
// System.
std::unique_ptr<SampleCache> make_folder_cache(const FolderCacheOptions& options);

// For the cache of a pipeline over `records`, behind steps that `steps` tells of: what functions do cannot be told, so
// a folder must be removed when one is changed.
std::unique_ptr<SampleCache> make_cache(const steps::Cache& cache, const Records& records, const std::string& steps);

// What tells the samples of one set from those of another, without reading any.
std::string identity_of(const Records& records);

}  // namespace ronde::data
