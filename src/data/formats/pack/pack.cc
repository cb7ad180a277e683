#include "ronde/data/formats/pack/pack.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/formats/pack/pack_shard.h"
#include "ronde/data/formats/runs.h"
#include "ronde/data/io/file_bytes.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRoom = 1024;  // for the key, and what a sample costs besides

struct Shard {
  std::int64_t first = 0;  // of its samples among all
  Mutex loading;
  std::optional<PackIndex> index;    // once it was asked for; written with `loading` held
  std::atomic<bool> loaded = false;  // then it stays as it is
};

class Pack : public Records {
 public:
  explicit Pack(const RecordsOptions& options)
      : name_(options.path.string()),
        set_(load_pack(options.path)),
        files_(set_.paths()),
        shards_(set_.manifest.shards.size()) {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      shards_[i].first = size_;
      size_ += set_.manifest.shards[i].samples;
    }
  }

  std::string name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  std::vector<std::string> classes() const override { return set_.manifest.classes; }

  std::size_t bytes(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    return index_of(shard).place(at).bytes + kRoom;
  }
  std::string where(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    return fmt::format("{} at byte {}", files_.path(shard), index_of(shard).place(at).offset);
  }
  std::string key(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    return std::string(index_of(shard).key(at));
  }
  std::vector<Range> chunks() const override {
    return runs_of(
        shards_.size(), [&](std::size_t i) { return set_.manifest.shards[i].samples; },
        [&](std::size_t i, std::int64_t at) { return index_of(i).place(at).bytes; });
  }

  Sample read(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    const PackIndex& known = index_of(shard);
    const PackIndex::Place place = known.place(at);
    const auto file = files_.get(shard);
    Array record(Type::U8, {static_cast<std::int64_t>(place.bytes)});
    const std::size_t got = detail::read_at(*file, place.offset, record.writable(), place.bytes, files_.path(shard));
    if (got < place.bytes || crc32c(record.text()) != place.crc) throw wrong_record(files_.path(shard), place, at);
    const std::string_view bytes = record.text();
    Sample sample = decode_pack_record(bytes, known.schema(at), std::make_shared<const Array>(std::move(record)),
                                       files_.path(shard));
    sample.set("key", Array::bytes_of(known.key(at)));
    return sample;
  }

 private:
  std::pair<std::size_t, std::int64_t> find(std::int64_t index) const {
    return find_file(shards_, index, &Shard::first);
  }

  // Only when a sample of the shard is asked for: a pack of thousands of shards opens at once.
  const PackIndex& index_of(std::size_t i) const {
    Shard& shard = shards_[i];
    if (shard.loaded) return *shard.index;
    const Lock lock(shard.loading);
    if (shard.loaded) return *shard.index;
    PackIndex index = load_pack_index(*files_.get(i), files_.path(i));
    if (index.size() != set_.manifest.shards[i].samples)
      throw Error::bad_input("{} holds {} samples, but {} says {}", files_.path(i), index.size(), kPackManifest,
                             set_.manifest.shards[i].samples);
    shard.index.emplace(std::move(index));
    shard.loaded = true;
    return *shard.index;
  }

  const std::string name_;
  const PackSet set_;
  const detail::OpenFiles files_;
  mutable std::vector<Shard> shards_;
  std::int64_t size_ = 0;
};

std::string text_of_file(const fs::path& path) {
  const FileDescriptor file = detail::open_to_read(path.string());
  return detail::read_exactly(file, 0, detail::facts_of(file, path.string()).bytes, path.string());
}

}  // namespace

std::vector<std::string> PackSet::paths() const {
  std::vector<std::string> paths;
  for (const PackShardFacts& shard : manifest.shards) paths.push_back((folder / shard.file).string());
  return paths;
}

PackSet load_pack(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {  // one shard: it says all but the names of the classes
    const FileDescriptor file = detail::open_to_read(path.string());
    const auto facts = detail::facts_of(file, path.string());
    const PackIndex index = load_pack_index(file, path.string());
    return {path.parent_path(),
            {.shards = {{.file = path.filename().string(), .samples = index.size(), .bytes = facts.bytes}}}};
  }
  if (!fs::exists(path / kPackManifest, ignored) && fs::exists(path / kPackPartial, ignored))
    throw Error::bad_input("the pack {} is not finished: run the same 'ronde data pack' again to continue",
                           path.string());
  PackSet set{path, parse_pack_manifest(text_of_file(path / kPackManifest), (path / kPackManifest).string())};
  for (const PackShardFacts& shard : set.manifest.shards) {
    const fs::path file = path / shard.file;
    if (!fs::exists(file, ignored))
      throw Error::bad_input("{} does not exist, but {} names it", file.string(), (path / kPackManifest).string());
    if (const auto facts = detail::facts_of(file.string()); facts.bytes != shard.bytes)
      throw Error::bad_input("{} has {} bytes, but {} says {}: it was cut off or changed", file.string(), facts.bytes,
                             (path / kPackManifest).string(), shard.bytes);
  }
  return set;
}

PackIndex load_pack_index(const FileDescriptor& file, const std::string& path) {
  const std::uint64_t bytes = detail::facts_of(file, path).bytes;
  std::string edge(kPackEdge, '\0');
  edge.resize(detail::read_at(file, 0, edge.data(), kPackEdge, path));
  check_pack_header(edge, path);
  const std::uint64_t at = bytes - std::min<std::uint64_t>(bytes, kPackEdge);
  const PackFooter footer = parse_pack_footer(detail::read_exactly(file, at, bytes - at, path), bytes, path);
  return {detail::read_exactly(file, footer.index_begin, footer.index_bytes, path), footer, path};
}

std::uint32_t checksum_of_file(const std::string& path) {
  const FileDescriptor file = detail::open_to_read(path);
  std::string piece(std::size_t{256} << 10, '\0');
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; const std::size_t got = detail::read_at(file, at, piece.data(), piece.size(), path);
       at += got)
    crc = crc32c(std::string_view(piece).substr(0, got), crc);
  return crc;
}

Error wrong_record(const std::string& path, const PackIndex::Place& place, std::int64_t record) {
  return Error::bad_input("{}: byte {}: the checksum of record {} does not match", path, place.offset, record);
}

std::unique_ptr<Records> open_pack(const RecordsOptions& options) {
  return std::make_unique<Pack>(options);
}

bool looks_like_pack(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return fs::exists(path / kPackManifest, ignored) || fs::exists(path / kPackPartial, ignored);
  return path.extension() == ".pack" && fs::exists(path, ignored);
}

}  // namespace ronde::data::files
