// Small records of a pack, read one after the other with their checksums, against nothing but read() of the same files.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/data/file_cache.h"
#include "ronde/bench/detail/command.h"
#include "ronde/bench/detail/scratch_folder.h"
#include "ronde/data/formats/pack/pack_make.h"
#include "ronde/data/formats/pack/pack_stream.h"
#include "ronde/data/order/random.h"
#include "ronde/topology/host.h"

namespace ronde::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecord = 1000, kRecords = 1'000'000;
constexpr std::size_t kLeastRecord = 16, kMostRecord = std::size_t{16} << 20, kLeastAll = std::size_t{1} << 20;

// Bytes that no file system can compress.
class Noise : public data::Records {
 public:
  Noise(std::size_t record, std::int64_t records) : record_(record), records_(records) {}
  std::string name() const override { return "noise"; }
  std::int64_t size() const override { return records_; }
  std::size_t bytes(std::int64_t) const override { return record_; }
  std::string where(std::int64_t index) const override { return "noise " + std::to_string(index); }
  data::Sample read(std::int64_t index) const override {
    data::Array array(data::Type::U8, {static_cast<std::int64_t>(record_)});
    auto* out = static_cast<char*>(array.writable());
    data::Random random(1, static_cast<std::uint64_t>(index));
    for (std::size_t at = 0; at < record_; at += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(out + at, &word, std::min<std::size_t>(8, record_ - at));
    }
    data::Sample sample;
    sample.set("bytes", std::move(array));
    return sample;
  }

 private:
  const std::size_t record_;
  const std::int64_t records_;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Sizes {
  std::size_t record = kRecord;
  std::int64_t records = kRecords;
};

Sizes sizes_of(const Options& options) {
  if (options.sizes.size() > 2)
    throw Error::bad_input("--sizes: give the bytes of a record and, optionally, of all records: 1kB,1GB");
  Sizes sizes;
  if (!options.sizes.empty()) sizes.record = options.sizes[0];
  const std::size_t all = options.sizes.size() > 1 ? options.sizes[1] : kRecords * kRecord;
  if (sizes.record < kLeastRecord || sizes.record > kMostRecord || all < kLeastAll || all < sizes.record)
    throw Error::bad_input("--sizes: records must have {} to {}, and at least {} in total", format_bytes(kLeastRecord),
                           format_bytes(kMostRecord), format_bytes(kLeastAll));
  sizes.records = static_cast<std::int64_t>(all / sizes.record);
  return sizes;
}

class RecordsBench {
 public:
  explicit RecordsBench(const Options& options)
      : options_(options), sizes_(sizes_of(options)), folder_(options.folder.empty() ? "." : options.folder) {}

  Report run() {
    write();
    measure("page cache", [&] { detail::read_files(files_); }, [] { return true; });
    share("page_cache_share", "checked records over read() from the page cache", 0.5);
    const bool forgot = measure("cold", [] {}, [&] { return detail::forget_files(files_); });
    if (forgot)
      share("cold_share", "checked records over read() from the disk", 0.9);
    else
      options_.log.warn(
          "the kernel does not drop the files from its cache here, so reading from the disk is not measured");
    return std::move(report_);
  }

 private:
  void write() {
    const auto system = topology::file_system(folder_.path());
    options_.log.info("writing {} records of {} bytes to {} ({})", sizes_.records, sizes_.record,
                      folder_.path().string(), system.type);
    const Noise noise(sizes_.record, sizes_.records);
    const data::files::Packed packed = data::files::make_pack(noise, {.folder = folder_.path() / "pack"});
    for (const auto& shard : packed.manifest.shards) files_.push_back((folder_.path() / "pack" / shard.file).string());
    bytes_ = packed.manifest.bytes();
  }

  // Both readers in turns; `before` each once, `prepare` before each turn. False: it could not be prepared.
  bool measure(const char* state, const std::function<void()>& before, const std::function<bool()>& prepare) {
    before();
    std::vector<double> plain, checked;
    for (int turn = 0; turn < options_.turns; ++turn) {
      if (!prepare()) return false;
      plain.push_back(seconds_of([&] { detail::read_files(files_); }));
      if (!prepare()) return false;
      checked.push_back(seconds_of([&] {
        std::int64_t seen = 0;
        data::files::stream_pack(folder_.path() / "pack", [&](const auto&) { ++seen; });
        if (seen != sizes_.records) throw Error(Error::Kind::Bug, "records were lost");
      }));
    }
    const double alone = detail::median(plain);
    add(state, "read()", alone, alone);
    add(state, "pack, checked", detail::median(checked), alone);
    return true;
  }

  void add(const char* state, const char* reader, double seconds, double alone) {
    last_share_ = alone / seconds;
    report_.rows.push_back({{"state", state},
                            {"reader", reader},
                            {"bytes", bytes_},
                            {"records", sizes_.records},
                            {"records_per_s", static_cast<double>(sizes_.records) / seconds},
                            {"gb_per_s", static_cast<double>(bytes_) / seconds / 1e9},
                            {"share_of_read", last_share_}});
  }

  void share(const char* key, const char* words, double bar) {
    report_.bars.push_back({.key = key, .words = words, .value = last_share_, .bar = bar});
  }

  const Options& options_;
  const Sizes sizes_;
  const detail::ScratchFolder folder_;
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
  double last_share_ = 0;
  Report report_{.name = "records"};
};

}  // namespace

Report run_records(const Options& options) {
  if (!options.folder.empty() && !fs::is_directory(options.folder))
    throw Error::bad_input("--dir {}: no such folder", options.folder);
  return RecordsBench(options).run();
}

}  // namespace ronde::bench
