#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ronde/data/pipeline/stage_stats.h"
#include "ronde/data/records.h"
#include "ronde/data/steps.h"
#include "ronde/topology/host.h"

namespace ronde::data {

// What is known of stored samples without reading them, as far as it decides how they are best read.
struct StorageFacts {
  std::int64_t samples = 0;
  double mean_bytes = 0;
  bool file_each = false;      // each sample is a file of its own
  std::int64_t class_run = 0;  // samples of one class that lie one after the other, at the most; 0: unknown
  topology::FileSystem::Kind kind = topology::FileSystem::Kind::Unknown;
  std::string file_system = {};   // "Lustre"
  std::uint64_t memory_free = 0;  // 0: unknown
};
// Looks at some samples' sizes, reads none. `path`: where they lie; empty: nowhere.
StorageFacts storage_facts(const Records& records, const std::filesystem::path& path);

// What is unwise about where samples lie: one sentence each, with what it costs and what to do. Pure.
std::vector<std::string> advise_on_storage(const StorageFacts& facts);

// What is unwise about the steps of a dataset: a cache after something that draws, a prefetch that is not last, a
// buffer that is too small to mix, a cache that is too large. One sentence each. Pure.
std::vector<std::string> advise_on_steps(const std::vector<Step>& steps, const StorageFacts& facts);

// What the stages of a pipeline show: functions that take less time than handing a sample on. Pure.
std::vector<std::string> advise_on_stages(const std::vector<StageStats>& stages);

}  // namespace ronde::data
