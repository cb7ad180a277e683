#include "ronde/data/formats/proto/lmdb.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/kept_index.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/proto/datum.h"
#include "ronde/data/formats/proto/example.h"
#include "ronde/data/formats/proto/lmdb_pages.h"
#include "ronde/data/formats/tar/tar.h"
#include "ronde/data/io/file_bytes.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

constexpr IndexKind kIndex{.kind = 0x4c4d4442, .version = 1};
enum Columns : std::size_t { kOffsets, kSizes, kColumns };
constexpr std::string_view kNoSample = "__";

std::filesystem::path file_of(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / "data.mdb" : path;
}

Index scan(const std::string& path, const Progress& progress) {
  const detail::FileBytes file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const auto all = static_cast<std::int64_t>(count_lmdb(bytes, path));
  Index index{.columns = std::vector<Column>(kColumns)};
  scan_lmdb(bytes, path, [&](const LmdbEntry& entry) {
    index.columns[kOffsets].push_back(entry.offset);
    index.columns[kSizes].push_back(entry.bytes);
    index.texts.emplace_back(entry.key);
    if (progress && index.texts.size() % 16384 == 0) progress(static_cast<std::int64_t>(index.texts.size()), all);
  });
  if (progress) progress(all, all);
  return index;
}

bool is_sane(const Index& index, std::uint64_t bytes) {
  const Column &offsets = index.columns[kOffsets], &sizes = index.columns[kSizes];
  if (offsets.size() != index.texts.size() || sizes.size() != offsets.size()) return false;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] > bytes || sizes[i] > bytes - offsets[i]) return false;
  return true;
}

class LmdbRecords : public Records {
 public:
  explicit LmdbRecords(const RecordsOptions& options)
      : path_(file_of(options.path).string()), file_(detail::open_to_read(path_)) {
    naming_.image = options.image;
    naming_.label = options.label;
    const std::uint64_t bytes = detail::facts_of(file_, path_).bytes;
    Index index = find_index(std::array{path_}, {.data = path_,
                                                 .cache = options.cache,
                                                 .kind = kIndex,
                                                 .name = "lmdb",
                                                 .columns = kColumns,
                                                 .make = [&] { return scan(path_, options.progress); },
                                                 .is_sane = [&](const Index& kept) { return is_sane(kept, bytes); }});
    for (std::size_t i = 0; i < index.texts.size(); ++i) {
      const Value value{index.columns[kOffsets][i], index.columns[kSizes][i]};
      if (index.texts[i] == kLmdbClasses) read_class_names(value);
      if (index.texts[i].starts_with(kNoSample)) continue;
      values_.push_back(value);
      keys_.push_back(std::move(index.texts[i]));
    }
    if (keys_.empty()) throw Error::bad_input("{} holds no samples", path_);
    if (naming_.classes.empty()) naming_.classes = read_classes(options.path);
    name_classes_by_key();
  }

  std::string name() const override { return path_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(keys_.size()); }
  std::vector<std::string> classes() const override { return naming_.classes; }
  std::string key(std::int64_t index) const override { return keys_[static_cast<std::size_t>(index)]; }
  std::size_t bytes(std::int64_t index) const override { return 2 * value(index).bytes + 1024; }  // a Datum is turned

  std::string where(std::int64_t index) const override {
    return fmt::format("{} at byte {} (key '{}')", path_, value(index).offset, key(index).substr(0, 60));
  }

  Sample read(std::int64_t index) const override {
    const auto bytes = std::make_shared<const std::string>(load(value(index)));
    const std::string where_it_is = where(index);
    if (picture_ending(*bytes) != "bin") return plain_picture(index, bytes);
    const auto first = bytes->empty() ? 0u : static_cast<unsigned char>(bytes->front());
    if (first == 0x80)
      throw Error::bad_input(
          "{}: the value is a Python pickle, which only Python can read; store encoded pictures instead", where_it_is);
    // The first byte of a message is its first field: 1 as bytes for an Example, any of 1 to 7 for a Datum.
    constexpr auto kDatum = std::to_array<unsigned>({0x08, 0x10, 0x18, 0x22, 0x28, 0x32, 0x35, 0x38});
    const bool datum = std::ranges::find(kDatum, first) != kDatum.end();
    if (first != 0x0a && !datum)
      throw Error::bad_input("{}: the value is not a picture (JPEG, PNG, TIFF), a tf.train.Example or a Caffe Datum",
                             where_it_is);
    Sample sample = datum ? parse_datum(*bytes, where_it_is, bytes) : parse_example(*bytes, where_it_is, bytes);
    use_our_names(sample, naming_, where_it_is);
    return sample;
  }

 private:
  struct Value {
    std::uint64_t offset = 0, bytes = 0;
  };

  Value value(std::int64_t index) const { return values_[static_cast<std::size_t>(index)]; }
  std::string load(const Value& value) const { return detail::read_exactly(file_, value.offset, value.bytes, path_); }

  void read_class_names(const Value& value) {
    const std::string text = load(value);
    for (const std::string_view line : split(text, '\n'))
      if (!line.empty()) naming_.classes.emplace_back(line);
  }

  // The part of a key that is the class of a plain picture; empty when there is none.
  static std::string prefix(const std::string& key) { return key.substr(0, std::min(key.find('/'), key.size())); }

  void name_classes_by_key() {
    if (!naming_.classes.empty()) return;
    const auto no_prefix = [](const std::string& key) { return key.find('/') == std::string::npos; };
    if (std::ranges::any_of(keys_, no_prefix) || picture_ending(load(values_.front())) == "bin") return;
    std::set<std::string> names;
    for (const std::string& key : keys_) names.insert(prefix(key));
    naming_.classes.assign(names.begin(), names.end());
    by_key_ = true;
  }

  Sample plain_picture(std::int64_t index, std::shared_ptr<const std::string> bytes) const {
    Sample sample;
    const auto size = static_cast<std::int64_t>(bytes->size());
    sample.set("image", Array::view(Type::U8, {size}, bytes->data(), bytes));
    if (!by_key_) return sample;
    const auto found = std::ranges::lower_bound(naming_.classes, prefix(key(index)));
    sample.set("class", Array::scalar<std::int64_t>(found - naming_.classes.begin()));
    return sample;
  }

  const std::string path_;
  const FileDescriptor file_;
  Naming naming_;
  bool by_key_ = false;
  std::vector<Value> values_;
  std::vector<std::string> keys_;
};

}  // namespace

std::unique_ptr<Records> open_lmdb(const RecordsOptions& options) {
  return std::make_unique<LmdbRecords>(options);
}

bool looks_like_lmdb(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".mdb" || path.extension() == ".lmdb" ||
         std::filesystem::exists(path / "data.mdb", ignored);
}

}  // namespace ronde::data::files
