#include "ronde/data/formats/tar/tar.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/runs.h"
#include "ronde/data/formats/shard_names.h"
#include "ronde/data/formats/tar/tar_index.h"
#include "ronde/data/io/file_bytes.h"
#include "ronde/data/io/file_io.h"
#include "ronde/data/io/parallel.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRoom = 1024;  // for class and key, and what a sample costs besides
constexpr auto kPictures = std::to_array<std::string_view>({"jpg", "jpeg", "png", "tif", "tiff"});

std::string_view text_of(const detail::FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

struct Shard {
  std::optional<detail::FileBytes> file;  // where the index lies: a file,
  std::string made;                       // or memory
  std::optional<TarIndex> index;
  std::int64_t first = 0;  // of its samples among all
};

void load(Shard& shard, const fs::path& path, const RecordsOptions& options, const Progress& progress) {
  const detail::FileFacts facts = detail::facts_of(path.string());
  const IndexHome home(path, path.parent_path() / fmt::format(".{}.ronde-index", path.filename().string()),
                       options.cache);
  for (detail::FileBytes& file : home.load()) try {
      shard.file.emplace(std::move(file));
      shard.index.emplace(text_of(*shard.file), shard.file->name());
      if (shard.index->is_of(facts)) return;
    } catch (const Error&) {  // damaged: made anew
    }
  shard.file.reset();
  const detail::FileBytes tar(path);
  shard.made = to_index(index_tar(text_of(tar), path.string(), progress), facts);
  shard.index.emplace(shard.made, path.string());
  home.save(shard.made);
}

class Tars : public Records {
 public:
  explicit Tars(const RecordsOptions& options)
      : options_(options),
        files_(find_shards(options.path, ".tar")),
        shards_(files_.size()),
        classes_(read_classes(options.path)) {
    std::atomic<std::int64_t> done{0};
    const auto all = static_cast<std::int64_t>(shards_.size());
    detail::parallel_for(all, detail::usable_threads(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      const Progress inside = all == 1 ? options.progress : Progress{};
      load(shards_[at], files_.path(at), options, inside);
      const std::int64_t now = ++done;
      if (options.progress && all > 1 && shards_[at].file == std::nullopt) options.progress(now, all);
    });
    for (Shard& shard : shards_) {
      shard.first = size_;
      size_ += shard.index->size();
    }
    if (size_ == 0)
      throw Error::bad_input("{} holds no samples; their files must have names such as 000017.jpg, 000017.cls", name());
  }

  std::string name() const override { return options_.path.string(); }
  std::int64_t size() const override { return size_; }
  std::vector<std::string> classes() const override { return classes_; }
  std::size_t bytes(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    return shards_[shard].index->span(at).size() + kRoom;
  }
  std::string where(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    const TarIndex& tar = *shards_[shard].index;
    return fmt::format("{} at byte {} ('{}')", files_.path(shard), tar.span(at).begin, tar.key(at));
  }
  std::string key(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    return std::string(shards_[shard].index->key(at));
  }
  std::vector<Range> chunks() const override {
    return runs_of(
        shards_.size(), [&](std::size_t i) { return shards_[i].index->size(); },
        [&](std::size_t i, std::int64_t at) { return shards_[i].index->span(at).size(); });
  }

  // All of a sample in one read: its files follow one another, with little in between.
  Sample read(std::int64_t index) const override {
    const auto [shard, at] = find(index);
    const TarIndex& tar = *shards_[shard].index;
    const TarIndex::Span span = tar.span(at);
    const auto file = files_.get(shard);
    Array all(Type::U8, {static_cast<std::int64_t>(span.size())});
    const std::size_t got = detail::read_at(*file, span.begin, all.writable(), span.size(), files_.path(shard));
    if (got < span.size())
      throw Error::bad_input("{}: the file ends at byte {}, inside the sample '{}' that begins at byte {}",
                             files_.path(shard), span.begin + got, tar.key(at), span.begin);
    const auto owner = std::make_shared<const Array>(all);
    Sample sample;
    for (std::size_t i = tar.first_member(at); i < tar.end_member(at); ++i) {
      const TarIndex::Span member = tar.member(i);
      sample.set(tar.ending(i), Array::view(Type::U8, {static_cast<std::int64_t>(member.size())},
                                            all.text().data() + (member.begin - span.begin), owner));
    }
    use_common_names(sample, index);
    sample.set("key", Array::bytes_of(tar.key(at)));
    return sample;
  }

 private:
  std::pair<std::size_t, std::int64_t> find(std::int64_t index) const {
    return find_file(shards_, index, &Shard::first);
  }

  void rename(Sample& sample, std::string_view from, std::string_view to) const {
    Array array = sample.at(from);
    sample.erase(from);
    sample.set(to, std::move(array));
  }

  void use_common_names(Sample& sample, std::int64_t index) const {
    if (!options_.image.empty()) {
      if (sample.find(options_.image) == nullptr)
        throw Error::bad_input("{}: the sample has no file that ends in .{}", where(index), options_.image);
      if (options_.image != "image") rename(sample, options_.image, "image");
    } else if (const auto ending = std::ranges::find_if(kPictures, [&](auto one) { return sample.find(one); });
               ending != kPictures.end()) {
      rename(sample, *ending, "image");
    }
    const std::string label = options_.label.empty() ? "cls" : options_.label;
    const Array* text = sample.find(label);
    if (text == nullptr && options_.label.empty()) return;
    if (text == nullptr) throw Error::bad_input("{}: the sample has no file that ends in .{}", where(index), label);
    const auto number = parse_number<std::int64_t>(trim(text->text()));
    if (!number || *number < 0)
      throw Error::bad_input("{}: .{} holds '{}', but a class must be a number from 0", where(index), label,
                             text->text().substr(0, 40));
    sample.erase(label);
    sample.set("class", Array::scalar(*number));
  }

  const RecordsOptions options_;
  const detail::OpenFiles files_;
  std::vector<Shard> shards_;
  const std::vector<std::string> classes_;  // by name, where a file beside the tars has them
  std::int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Records> open_tar(const RecordsOptions& options) {
  return std::make_unique<Tars>(options);
}

bool looks_like_tar(const fs::path& path) {
  return names_shards(path, ".tar");
}

}  // namespace ronde::data::files
