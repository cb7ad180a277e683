#include "ronde/data/formats/pack/pack_make.h"

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"
#include "ronde/data/formats/images/picture_check.h"
#include "ronde/data/formats/pack/pack_format.h"
#include "ronde/data/formats/pack/pack_shard.h"
#include "ronde/data/formats/pack/pack_writer.h"
#include "ronde/data/formats/unfinished.h"
#include "ronde/data/io/file_io.h"
#include "ronde/data/io/parallel.h"
#include "ronde/data/order/order.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/tools/inspect.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLeastShard = 1024, kMostShard = std::uint64_t{1} << 40;
constexpr std::int64_t kWindow = 16;  // samples a thread may be ahead of the one that is written

void check(const Records& records, const PackOptions& options) {
  if (records.size() == 0) throw Error::bad_input("{} holds no samples", records.name());
  if (options.shard_bytes < kLeastShard || options.shard_bytes > kMostShard)
    throw Error::bad_input("shard size must be from {1} to {2}, got {0}", format_bytes(options.shard_bytes),
                           format_bytes(kLeastShard), format_bytes(kMostShard));
  if (options.short_side < 0 || options.short_side > 65500)
    throw Error::bad_input("short side must be from 0 to 65500 pixels, got {}", options.short_side);
  if (options.quality < 1 || options.quality > 100)
    throw Error::bad_input("JPEG quality must be from 1 to 100, got {}", options.quality);
}

// All that the bytes of a pack depend on: who goes on must do the same.
std::string description(const Records& records, const PackOptions& options) {
  std::string text = fmt::format("{}, shards of {} bytes, {}", describe_source(records), options.shard_bytes,
                                 options.stop_on_error ? "all of them" : "bad ones left out");
  if (options.shuffle_seed) text += fmt::format(", shuffled with seed {}", *options.shuffle_seed);
  if (options.short_side > 0) text += fmt::format(", short side {}, quality {}", options.short_side, options.quality);
  return text;
}

class Packer {
 public:
  Packer(const Records& records, const PackOptions& options)
      : records_(records), options_(options), order_(records.size(), options.shuffle_seed.value_or(0), 0) {
    packed_.manifest.made = description(records, options);
    packed_.manifest.classes = records.classes();
  }

  Packed run() {
    if (find_earlier()) return std::move(packed_);
    const int threads = options_.threads > 0 ? options_.threads : detail::usable_threads();
    packed_.went_on_at = packed_.manifest.next;
    tell();
    detail::ordered_work<Prepared>(
        packed_.manifest.next, records_.size(), threads, kWindow * threads,
        [&](std::int64_t at) { return prepare(at); },
        [&](std::int64_t at, Prepared prepared) { take(at, std::move(prepared)); });
    if (shard_) finish_shard();
    PackManifest& manifest = packed_.manifest;
    manifest.next = records_.size();
    if (manifest.samples() == 0)
      throw Error::bad_input("none of the samples of {} can be read; the first error: {}", records_.name(),
                             manifest.skipped[0].why);
    detail::replace_file(options_.folder / kPackManifest, to_json(manifest), /* durable */ true);
    fs::remove(options_.folder / kPackPartial);
    return std::move(packed_);
  }

 private:
  struct Prepared {
    std::optional<PackRecord> record;  // or
    PackSkipped skipped;
  };

  // True when nothing is left to do.
  bool find_earlier() {
    std::error_code failure;
    fs::create_directories(options_.folder, failure);
    if (failure) throw Error::system(failure.value(), "cannot make the folder {}", options_.folder.string());
    remove_halves();
    for (const char* name : {kPackManifest, kPackPartial}) {
      const std::string path = (options_.folder / name).string();
      if (!fs::exists(path, failure)) continue;
      const FileDescriptor file = detail::open_to_read(path);
      PackManifest earlier =
          parse_pack_manifest(detail::read_exactly(file, 0, detail::facts_of(file, path).bytes, path), path);
      if (earlier.made != packed_.manifest.made && options_.overwrite && name == std::string_view(kPackPartial)) {
        remove_earlier(earlier);
        continue;
      }
      if (earlier.made != packed_.manifest.made)
        throw Error::bad_input("{} holds another pack ({}), but this one would be {}: choose another folder, or {}",
                               options_.folder.string(), earlier.made, packed_.manifest.made,
                               name == std::string_view(kPackPartial) ? "start over with --overwrite" : "remove it");
      if (earlier.next > records_.size())
        throw Error::bad_input("{}: \"taken\" is larger than the number of samples", path);
      packed_.manifest = std::move(earlier);
      check_shards(path);
      return packed_.was_there = name == std::string_view(kPackManifest);
    }
    return false;
  }

  // What a program that was killed was writing.
  void remove_halves() const {
    std::error_code ignored;
    std::vector<fs::path> halves;
    for (const auto& entry : fs::directory_iterator(options_.folder, ignored)) {
      const std::string name = entry.path().filename().string();
      const bool shard = name.starts_with(".data-") && name.ends_with(".pack.partial");
      const bool manifest = name.starts_with("pack.json.") || name.starts_with("pack.partial.json.");
      if (shard || manifest) halves.push_back(entry.path());
    }
    for (const fs::path& half : halves) fs::remove(half, ignored);
  }

  void remove_earlier(const PackManifest& earlier) const {
    std::error_code ignored;
    fs::remove(options_.folder / kPackPartial, ignored);
    for (const PackShardFacts& shard : earlier.shards) fs::remove(options_.folder / shard.file, ignored);
  }

  // What is said to be finished must be there.
  void check_shards(const std::string& manifest) const {
    for (const PackShardFacts& shard : packed_.manifest.shards) {
      const std::string path = (options_.folder / shard.file).string();
      if (const auto facts = detail::facts_of(path); facts.bytes != shard.bytes)
        throw Error::bad_input("{} has {} bytes, but {} says {}: remove the folder and pack again", path, facts.bytes,
                               manifest, shard.bytes);
    }
  }

  std::int64_t index_at(std::int64_t at) const { return options_.shuffle_seed ? order_[at] : at; }

  // On any thread.
  Prepared prepare(std::int64_t at) const {
    const std::int64_t index = index_at(at);
    try {
      Sample sample = records_.read(index);
      if (const Array* picture = sample.find("image"); picture != nullptr && is_encoded(*picture)) {
        check_picture(*picture);
        if (options_.short_side > 0)
          sample.set("image",
                     Array::bytes_of(picture::reencode_jpeg(picture->text(), options_.short_side, options_.quality)));
      }
      return {.record = encode_pack_record(sample, records_.key(index)), .skipped = {}};
    } catch (const Error& error) {
      // Only what is bad itself is left out: a disk that fails now may have it another time.
      if (error.kind() != Error::Kind::BadInput || options_.stop_on_error) throw of_sample(records_, index, error);
      return {.record = {}, .skipped = {index, where_or_number(records_, index), error.message()}};
    }
  }

  void take(std::int64_t at, Prepared prepared) {
    if (prepared.record) {
      // What a record costs in the index too, so that a shard is never longer than was asked for by more than a record.
      const std::uint64_t bytes = pack_padded(prepared.record->bytes.size());
      if (shard_ && shard_->records() > 0 && shard_->bytes() + bytes > options_.shard_bytes) {
        packed_.manifest.next = at;
        finish_shard();
        save_progress();
      }
      if (!shard_)
        shard_ = std::make_unique<PackShardWriter>(options_.folder /
                                                   fmt::format("data-{:05}.pack", packed_.manifest.shards.size()));
      shard_->add(*prepared.record);
    } else {
      packed_.manifest.skipped.push_back(std::move(prepared.skipped));
    }
    if (at % 64 == 63 || at + 1 == records_.size()) {
      packed_.manifest.next = at + 1;
      tell();
    }
  }

  void finish_shard() {
    packed_.manifest.shards.push_back(shard_->finish());
    shard_.reset();
  }

  void save_progress() const {
    detail::replace_file(options_.folder / kPackPartial, to_json(packed_.manifest), /* durable */ true);
  }

  void tell() const {
    if (options_.progress) options_.progress(packed_.manifest.next, records_.size());
  }

  const Records& records_;
  const PackOptions& options_;
  const Order order_;
  Packed packed_;
  std::unique_ptr<PackShardWriter> shard_;
};

}  // namespace

Packed make_pack(const Records& records, const PackOptions& options) {
  check(records, options);
  return Packer(records, options).run();
}

}  // namespace ronde::data::files
