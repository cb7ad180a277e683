#include "ronde/data/formats/proto/tfrecord.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/kept_index.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/proto/example.h"
#include "ronde/data/formats/proto/tfrecord_framing.h"
#include "ronde/data/formats/runs.h"
#include "ronde/data/formats/shards.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

const ShardKind& shard_kind() {
  static const ShardKind kind{.what = "TFRecord", .endings = {".tfrecord", ".tfrecords", ".tfrec"}, .numbered = true};
  return kind;
}

using Offsets = std::vector<std::uint64_t>;

constexpr IndexKind kIndex{.kind = 0x54465231, .version = 1};
enum Columns : std::size_t { kCounts, kOffsets, kColumns };  // of a file: how many offsets; and all of them

// Whether offsets rise, from the beginning of each file on.
bool is_sane(const Index& index, std::size_t files) {
  const Column &counts = index.columns[kCounts], &offsets = index.columns[kOffsets];
  if (counts.size() != files) return false;
  std::size_t at = 0;
  for (const std::uint64_t count : counts) {
    if (count == 0 || count > offsets.size() - at || offsets[at] != 0) return false;
    for (std::size_t i = at + 1; i < at + count; ++i)
      if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] < kTfRecordFrame) return false;
    at += count;
  }
  return at == offsets.size();
}

class TfRecords : public Records {
 public:
  TfRecords(const RecordsOptions& options, std::vector<std::string> paths)
      : name_(options.path.string()),
        paths_(std::move(paths)),
        files_(paths_),
        naming_{.image = options.image, .label = options.label, .classes = read_classes(options.path)} {
    const Index index =
        find_index(paths_, {.data = options.path,
                            .cache = options.cache,
                            .kind = kIndex,
                            .name = "tfrecord",
                            .columns = kColumns,
                            .make = [&] { return scan_all(options.progress); },
                            .is_sane = [&](const Index& kept) { return is_sane(kept, paths_.size()); }});
    auto offset = index.columns[kOffsets].begin();
    for (const std::uint64_t count : index.columns[kCounts]) {
      firsts_.push_back(size_);
      size_ += static_cast<std::int64_t>(count) - 1;
      offsets_.emplace_back(offset, offset + static_cast<std::ptrdiff_t>(count));
      offset += static_cast<std::ptrdiff_t>(count);
    }
    if (size_ == 0) throw Error::bad_input("{} holds no records", name_);
  }

  std::string name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  std::vector<std::string> classes() const override { return naming_.classes; }

  Sample read(std::int64_t index) const override {
    const Place at = find(index);
    const std::string& path = paths_[at.file];
    const auto record =
        std::make_shared<const std::string>(detail::read_exactly(*files_.get(at.file), at.offset, at.bytes, path));
    std::string_view rest = *record;
    const std::string_view payload = take_tfrecord(rest, path, at.offset);
    if (!rest.empty())
      throw Error::bad_input("{}: byte {}: the record is shorter than it was when the file was opened", path,
                             at.offset);
    const std::string where_it_is = where(index);
    Sample sample = parse_example(payload, where_it_is, record);
    use_our_names(sample, naming_, where_it_is);
    return sample;
  }

  std::size_t bytes(std::int64_t index) const override { return find(index).bytes + 1024; }

  std::string where(std::int64_t index) const override {
    const Place at = find(index);
    return fmt::format("{} at byte {}", paths_[at.file], at.offset);
  }

  std::string key(std::int64_t index) const override {
    const Place at = find(index);
    return fmt::format("{}:{}", std::filesystem::path(paths_[at.file]).filename().string(), index - firsts_[at.file]);
  }

  std::vector<Range> chunks() const override {
    const auto records = [&](std::size_t file) { return static_cast<std::int64_t>(offsets_[file].size()) - 1; };
    const auto length = [&](std::size_t file, std::int64_t record) {
      return offset(file, record + 1) - offset(file, record);
    };
    return runs_of(offsets_.size(), records, length);
  }

 private:
  struct Place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  std::uint64_t offset(std::size_t file, std::int64_t record) const {
    return offsets_[file][static_cast<std::size_t>(record)];
  }

  Place find(std::int64_t index) const {
    const auto [file, record] = find_file(firsts_, index);
    return {file, offset(file, record), offset(file, record + 1) - offset(file, record)};
  }

  Index scan_all(const Progress& progress) const {
    Index index{.columns = std::vector<Column>(kColumns)};
    for (std::size_t file = 0; file < paths_.size(); ++file) {
      const Offsets offsets = scan_tfrecord(*files_.get(file), paths_[file]);
      index.columns[kCounts].push_back(offsets.size());
      index.columns[kOffsets].insert(index.columns[kOffsets].end(), offsets.begin(), offsets.end());
      if (progress) progress(static_cast<std::int64_t>(file) + 1, static_cast<std::int64_t>(paths_.size()));
    }
    return index;
  }

  const std::string name_;
  const std::vector<std::string> paths_;
  const detail::OpenFiles files_;
  const Naming naming_;
  std::vector<std::int64_t> firsts_;  // the index of each file's first record
  std::vector<Offsets> offsets_;      // of each file: its records', and its end
  std::int64_t size_ = 0;
};

}  // namespace

std::vector<std::uint64_t> scan_tfrecord(const FileDescriptor& file, const std::string& name) {
  const std::uint64_t size = detail::facts_of(file, name).bytes;
  Offsets offsets{0};
  std::string header(kTfRecordHeader, '\0');
  while (offsets.back() < size) {
    const std::uint64_t offset = offsets.back();
    const std::size_t got = detail::read_at(file, offset, header.data(), header.size(), name);
    if (offset == 0 && header.starts_with("\x1f\x8b"))
      throw Error::bad_input("{} is compressed with gzip, so its records cannot be read by index: decompress it first",
                             name);
    const std::uint64_t length = tfrecord_length(std::string_view(header).substr(0, got), name, offset);
    if (size - offset < kTfRecordFrame || length > size - offset - kTfRecordFrame)
      throw Error::bad_input("{}: the file ends at byte {}, inside the record that begins at byte {}", name, size,
                             offset);
    offsets.push_back(offset + kTfRecordFrame + length);
  }
  return offsets;
}

std::unique_ptr<Records> open_tfrecord(const RecordsOptions& options) {
  return std::make_unique<TfRecords>(options, find_shards(options.path, shard_kind()));
}

bool looks_like_tfrecord(const std::filesystem::path& path) {
  if (is_shard(path.filename().string(), shard_kind())) return true;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
    if (is_shard(entry.path().filename().string(), shard_kind())) return true;
  return false;
}

}  // namespace ronde::data::files
