#include "ronde/data/tools/verify.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/data/formats/images/picture_check.h"
#include "ronde/data/formats/pack/pack_shard.h"
#include "ronde/data/io/parallel.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/tools/inspect.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kRun = 64;  // samples that a thread takes at once: neighbours lie together

class Verifier {
 public:
  Verifier(const VerifyOptions& options, const Records& records)
      : options_(options), records_(records), classes_(static_cast<double>(records.classes().size())) {}

  Verification run() {
    const int threads = options_.threads > 0 ? options_.threads : detail::usable_threads();
    detail::parallel_for((records_.size() + kRun - 1) / kRun, threads, [&](std::int64_t run) {
      const std::int64_t end = std::min(records_.size(), (run + 1) * kRun);
      for (std::int64_t i = run * kRun; i < end; ++i) look(i);
      const std::int64_t now = done_ += end - run * kRun;
      if (options_.progress) options_.progress(now, records_.size());
    });
    const Lock lock(mutex_);
    std::ranges::sort(bad_, {}, &Verification::Bad::index);
    return {.format = {}, .samples = records_.size(), .bytes = bytes_, .pictures = pictures_, .bad = std::move(bad_)};
  }

 private:
  void look(std::int64_t index) {
    try {
      const Sample sample = records_.read(index);
      bytes_ += sample.bytes();
      if (const Array* picture = sample.find("image"); picture != nullptr && files::is_encoded(*picture)) {
        files::check_picture(*picture);
        if (options_.decode && files::is_decodable(*picture)) picture::decode_pixels(picture->text());
        ++pictures_;
      }
      check_class(sample);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::Bug) throw;
      const Lock lock(mutex_);
      bad_.push_back({index, where_or_number(records_, index), error.message()});
    }
  }

  void check_class(const Sample& sample) const {
    const Array* label = sample.find("class");
    if (label == nullptr || label->size() != 1) return;
    if (const double number = label->number(); number < 0 || (classes_ > 0 && number >= classes_))
      throw Error::bad_input("its class is {}, but there are {} classes", number, classes_);
  }

  const VerifyOptions& options_;
  const Records& records_;
  const double classes_;
  std::atomic<std::int64_t> done_{0}, pictures_{0};
  std::atomic<std::uint64_t> bytes_{0};
  Mutex mutex_;
  std::vector<Verification::Bad> bad_ RONDE_GUARDED_BY(mutex_);
};

// The bytes between records, and the places of whole files.
void verify_shards(const VerifyOptions& options, Verification& found) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.records.path, ignored)) return;  // one shard has nobody to compare with
  const files::PackSet set = files::load_pack(options.records.path);
  struct {
    std::vector<Verification::Bad>& bad RONDE_GUARDED_BY(mutex);
    Mutex mutex = {};
  } shared{found.bad};
  const int threads = options.threads > 0 ? options.threads : detail::usable_threads();
  detail::parallel_for(static_cast<std::int64_t>(set.manifest.shards.size()), threads, [&](std::int64_t i) {
    const files::PackShardFacts& shard = set.manifest.shards[static_cast<std::size_t>(i)];
    const std::string path = (set.folder / shard.file).string();
    std::string why;
    try {
      if (files::checksum_of_file(path) != shard.crc)
        why = fmt::format("the checksum of the file differs from that in {}", files::kPackManifest);
    } catch (const Error& error) {
      why = error.message();
    }
    const Lock lock(shared.mutex);
    if (!why.empty()) shared.bad.push_back({-1, path, std::move(why)});
  });
}

}  // namespace

Verification verify(const VerifyOptions& options) {
  RecordsOptions known = options.records;
  if (known.format == "auto") known.format = guess_format(known.path);
  const auto records = open_records(known);
  Verification found = Verifier(options, *records).run();
  found.format = known.format;
  if (known.format == "pack") verify_shards(options, found);
  return found;
}

}  // namespace ronde::data
