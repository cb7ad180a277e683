#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/bench/data/data.h"
#include "ronde/bench/data/file_cache.h"
#include "ronde/bench/detail/command.h"
#include "ronde/bench/detail/scratch_folder.h"
#include "ronde/data/order/order.h"
#include "ronde/data/records.h"
#include "ronde/data/tools/convert.h"

namespace ronde::bench {
namespace {

namespace fs = std::filesystem;
using detail::median;

constexpr const char* kFormats[] = {"images", "tar", "tfrecord", "lmdb", "hdf5", "pack"};

struct Copy {
  std::string format;
  std::unique_ptr<data::Records> records;
  std::vector<std::string> files = {};
  std::uint64_t bytes = 0;
};

Copy copy_to(const DataOptions& options, const std::string& format, const fs::path& folder) {
  const fs::path path = folder / (format == "hdf5" ? "data.h5" : format);
  data::convert({.path = options.source.path, .format = options.source.name}, {.path = path, .format = format});
  Copy copy{.format = format, .records = data::open_records({.path = path, .format = format})};
  if (fs::is_regular_file(path)) copy.files.push_back(path.string());
  if (fs::is_directory(path))
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) copy.files.push_back(entry.path().string());
  for (const std::string& file : copy.files) copy.bytes += fs::file_size(file);
  return copy;
}

// Samples a second, on one thread.
double read_all(const data::Records& records, bool shuffled, std::int64_t turn) {
  const data::Order order(records.size(), 1, turn);
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < records.size(); ++i) records.read(shuffled ? order[i] : i);
  return static_cast<double>(records.size()) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Report run_data_formats(const DataOptions& options, const fs::path& parent) {
  Report report{.name = "data formats"};
  const detail::ScratchFolder scratch(parent);
  std::vector<Copy> copies;
  for (const char* format : kFormats) try {
      copies.push_back(copy_to(options, format, scratch.path()));
    } catch (const Error& error) {
      options.log.warn("{} is left out: {}", format, error.what());
    }
  struct Way {
    const char* key;
    bool cold, shuffled;
    std::vector<std::vector<double>> rates;
  };
  std::vector<Way> ways = {{"cold_sequential_per_s", true, false, {}},
                           {"cold_shuffled_per_s", true, true, {}},
                           {"warm_sequential_per_s", false, false, {}},
                           {"warm_shuffled_per_s", false, true, {}}};
  bool forgot = true;
  for (Way& way : ways) {
    way.rates.resize(copies.size());
    for (int turn = 0; turn < options.turns; ++turn)
      for (std::size_t i = 0; i < copies.size(); ++i) {
        if (way.cold) forgot = detail::forget_files(copies[i].files) && forgot;
        way.rates[i].push_back(read_all(*copies[i].records, way.shuffled, turn));
      }
  }
  if (!forgot) options.log.warn("the kernel does not drop files from its cache here: 'cold' figures are not cold");
  for (std::size_t i = 0; i < copies.size(); ++i) {
    nlohmann::ordered_json row = {{"format", copies[i].format},
                                  {"samples", copies[i].records->size()},
                                  {"files", copies[i].files.size()},
                                  {"bytes", copies[i].bytes}};
    for (const Way& way : ways) row[way.key] = median(way.rates[i]);
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace ronde::bench
