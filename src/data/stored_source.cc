#include "ronde/data/stored_source.h"

#include <unistd.h>

#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/picture/bands_decoder.h"
#include "ronde/data/picture/decoder.h"
#include "ronde/data/pipeline/memory/sample_cache.h"
#include "ronde/topology/host.h"

namespace ronde::data {
namespace {

namespace fs = std::filesystem;

constexpr int kUsualResolution = 224;

class CachedRecords : public Records {
 public:
  CachedRecords(std::shared_ptr<const Records> from, std::unique_ptr<SampleCache> cache)
      : from_(std::move(from)), cache_(std::move(cache)) {}
  std::string name() const override { return from_->name(); }
  std::int64_t size() const override { return from_->size(); }
  std::size_t bytes(std::int64_t index) const override { return from_->bytes(index); }
  std::string where(std::int64_t index) const override { return from_->where(index); }
  std::string key(std::int64_t index) const override { return from_->key(index); }
  std::vector<std::string> classes() const override { return from_->classes(); }
  std::vector<Range> chunks() const override { return from_->chunks(); }
  Sample read(std::int64_t index) const override {
    if (auto kept = cache_->find(index)) return std::move(*kept);
    Sample sample = from_->read(index);
    cache_->put(index, sample);
    return sample;
  }

 private:
  const std::shared_ptr<const Records> from_;
  const std::unique_ptr<SampleCache> cache_;
};

// The first sample that can be read tells what kind they are.
Sample first_good(const Records& records) {
  constexpr std::int64_t kTries = 10;
  for (std::int64_t i = 0;; ++i) try {
      return records.read(i);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::BadInput || i + 1 >= std::min(kTries, records.size())) throw;
    }
}

bool is_picture(const Sample& sample) {
  const Array* image = sample.find("image");  // numbers are "features"
  if (!image || image->type() != Type::U8) return false;
  return image->shape().size() <= 3;  // bytes of a file, or pixels
}

Preparation preparation_of(const Sample& sample) {
  if (sample.find("B01") && sample.find("B12")) return Preparation::Bands;
  return is_picture(sample) ? Preparation::Pictures : Preparation::Numbers;
}

bool is_grey(const Sample& sample) {
  const Shape& shape = sample.at("image").shape();
  return shape.size() == 2 || (shape.size() == 3 && shape.back() == 1);
}

PictureOptions picture_of(const SourceOptions& options, const Sample& first, std::int64_t classes) {
  PictureOptions picture = options.picture;
  picture.resolution = options.resolution > 0 ? static_cast<int>(options.resolution) : kUsualResolution;
  picture.channels = options.channels > 0 ? options.channels : is_grey(first) ? 1 : 3;
  picture.augment = options.augment;
  picture.target = options.target;
  picture.classes = classes;
  if (!options.normalize.empty()) picture.normal = parse_normalization(options.normalize, picture.channels);
  return picture;
}

BandsOptions bands_of(const SourceOptions& options) {
  BandsOptions bands;
  if (options.resolution > 0) bands.resolution = static_cast<int>(options.resolution);
  bands.augment = options.augment;
  bands.flip = options.picture.flip;
  bands.rotate = options.picture.rotate;
  bands.cutout = options.picture.cutout;
  bands.layout = options.picture.layout;
  bands.target = options.target;
  return bands;
}

std::shared_ptr<const Decoder> decoder_for(const SourceOptions& options, const Records& records, const Sample& first) {
  const auto named = static_cast<std::int64_t>(records.classes().size());
  const std::int64_t classes = named > 0 ? named : options.classes;
  switch (preparation_of(first)) {
    case Preparation::Bands: return make_bands_decoder(bands_of(options));
    case Preparation::Pictures: return make_picture_decoder(picture_of(options, first, classes));
    default: return make_array_decoder(first, options.target, classes);
  }
}

}  // namespace

Preparation stored_preparation(const Records& records) {
  return preparation_of(first_good(records));
}

StoredSource::StoredSource(StoredParts parts, std::int64_t samples) : parts_(std::move(parts)) {
  const std::int64_t all = parts_.records->size();
  if (samples > all)
    throw Error::bad_input("{} samples were requested, but {} has {}", samples, parts_.records->name(), all);
  size_ = samples > 0 ? samples : all;
}

std::string StoredSource::name() const {
  return parts_.records->name();
}

SampleKind StoredSource::kind() const {
  return parts_.decoder->kind();
}

void StoredSource::read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const {
  try {
    parts_.decoder->decode(parts_.records->read(index), {parts_.seed, epoch, index}, into);
  } catch (const Error& error) {
    const std::string where = parts_.records->where(index);
    if (error.kind() != Error::Kind::BadInput || error.message().find(where) != std::string::npos) throw;
    throw Error::bad_input("{}: {}", where, error.message());
  }
}

fs::path stored_path(const SourceOptions& options) {
  const fs::path path = options.path;
  if (path.empty())
    throw Error::bad_input("data.name is '{}': set data.path to the folder that holds its files", options.name);
  std::error_code ignored;
  const bool has_train = fs::is_directory(path / "train", ignored);
  if (options.split == Split::Train) return has_train ? path / "train" : path;
  if (!options.test_path.empty()) return options.test_path;
  if (has_train)
    for (const char* folder : {"val", "validation", "test"})
      if (fs::is_directory(path / folder, ignored)) return path / folder;
  return {};
}

std::shared_ptr<const Records> cached(std::shared_ptr<const Records> records, const std::string& cache) {
  const std::string identity = identity_of(*records);
  FolderCacheOptions options;
  options.folder = fs::path(cache) / fmt::format("{:08x}", crc32c(identity));
  options.identity = identity;
  options.samples = records->size();
  if (cache == "ram") {
    options.folder = fmt::format("/dev/shm/ronde-cache-{}-{:08x}", ::getuid(), crc32c(identity));
    options.for_now = true;
    options.most_bytes = std::min(topology::usable_memory(), topology::file_system("/dev/shm").available) / 2;
  } else {
    fs::path existing = fs::absolute(options.folder);
    while (!fs::exists(existing) && existing.has_relative_path()) existing = existing.parent_path();
    options.most_bytes = topology::file_system(existing).available / 10 * 9;
  }
  return std::make_shared<CachedRecords>(std::move(records), make_folder_cache(options));
}

std::unique_ptr<Source> open_stored(const SourceOptions& options) {
  const fs::path path = stored_path(options);
  if (path.empty())
    throw Error::bad_input(
        "{} has no test samples: set data.test_path, put them into a folder 'val' next to the folder 'train', or set "
        "data.split, for example 80/10/10",
        options.path);
  std::shared_ptr<const Records> records = open_records({.path = path,
                                                         .format = options.name,
                                                         .image = options.image,
                                                         .label = options.label,
                                                         .cache = options.index_cache,
                                                         .progress = options.progress});
  if (!options.cache.empty() && records->size() > 0) records = cached(std::move(records), options.cache);
  return stored_as(options, std::move(records));
}

std::unique_ptr<Source> stored_as(const SourceOptions& options, std::shared_ptr<const Records> records) {
  if (records->size() == 0) throw Error::bad_input("{} holds no samples", records->name());
  StoredParts parts{.records = std::move(records), .seed = options.seed};
  parts.decoder = decoder_for(options, *parts.records, first_good(*parts.records));
  return std::make_unique<StoredSource>(std::move(parts), options.samples);
}

}  // namespace ronde::data
