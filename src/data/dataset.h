#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ronde/data/picture/decoder.h"
#include "ronde/data/pipeline.h"
#include "ronde/data/records.h"
#include "ronde/data/source.h"
#include "ronde/data/steps.h"

namespace ronde::data {

// Where samples come from and what is done to them: a source and steps, in tf.data's words. Nothing is read before
// somebody asks for a sample. A value, cheap to copy; safe to read from any thread.
//
//   const auto batches = images("/data/train") | shuffle(seed) | global_batch(256) | shard(rank, ranks) |
//                        map(pictures({.resolution = 224, .augment = true})) | prefetch();
//   for (const Sample& batch : batches) train(batch.at("image"), batch.at("class"));
//
// Which samples a batch holds, and what they look like, depends on (seed, epoch, position) alone: not on threads, not
// on ranks. Steps on the order (shuffle, shard, take, skip, split, repeat, batch) cost nothing and no memory as long as
// every step before them makes one sample of one sample; after filter, flat_map and interleave they act on the stream.
class Dataset {
 public:
  Dataset(Origin origin) : origin_(std::move(origin)) {}  // NOLINT(google-explicit-constructor)

  // FAILS WITH: BadInput for a step that cannot be where it is, saying where it can.
  friend Dataset operator|(Dataset before, Step step) {
    before.steps_.push_back(std::move(step));
    return before;
  }

  const Origin& origin() const { return origin_; }
  const std::vector<Step>& steps() const { return steps_; }

  // Starts to prepare samples. `start` is where an earlier pipeline of the same dataset stopped: Pipeline::position().
  // FAILS WITH: BadInput for steps that do not go together, naming them.
  Pipeline open(PipelineOptions options = {}, std::optional<Position> start = {}) const {
    return Pipeline(origin_, steps_, std::move(options), start);
  }

  // for (const Sample& sample : dataset): from the beginning, as open() without options.
  class Iterator {
   public:
    explicit Iterator(std::shared_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) { ++*this; }
    const Sample& operator*() const { return *sample_; }
    const Sample* operator->() const { return &*sample_; }
    Iterator& operator++() {
      sample_ = pipeline_->next();
      return *this;
    }
    friend bool operator==(const Iterator& at, std::default_sentinel_t) { return !at.sample_; }

   private:
    std::shared_ptr<Pipeline> pipeline_;
    std::optional<Sample> sample_;
  };
  Iterator begin() const { return Iterator(std::make_shared<Pipeline>(open())); }
  static std::default_sentinel_t end() { return {}; }

 private:
  Origin origin_;
  std::vector<Step> steps_;
};

// --- sources: stored samples, as open_records() has them
Dataset records(std::shared_ptr<const Records> records);
Dataset from_files(const RecordsOptions& options);  // of any format
inline Dataset images(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "images"});
}
inline Dataset tfrecord(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "tfrecord"});
}
inline Dataset tar(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "tar"});
}
inline Dataset lmdb(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "lmdb"});
}
inline Dataset hdf5(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "hdf5"});
}
inline Dataset csv(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "csv"});
}
inline Dataset npy(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "npy"});
}
inline Dataset pack(const std::filesystem::path& path) {
  return from_files({.path = path, .format = "pack"});
}

// --- sources: samples that are made
// Samples of one shape, ready for a network: generated, or in files and decoded straight into batches.
Dataset from_source(std::shared_ptr<const Source> source);
// The same. REQUIRES: `source` outlives the dataset and all its pipelines.
inline Dataset from_source(const Source& source) {
  return from_source(std::shared_ptr<const Source>(std::shared_ptr<void>(), &source));
}
// A set that Ronde knows by name (source.h: glyphs, mnist ...): arrays "image", and "class", "labels" or "mask".
Dataset known(const SourceOptions& options);
// `sample` gives any of `samples` samples, from any thread, always the same.
Dataset function(std::int64_t samples, std::function<Sample(std::int64_t index)> sample, std::string name = "function");
// `restart` begins an epoch; what it returns gives one sample after the other, and nothing at the end. The same samples
// must come every time that an epoch is begun, or nothing can be resumed.
Dataset generator(std::function<NextSample(std::int64_t epoch)> restart, std::string name = "generator");
// Samples of two datasets side by side, until one ends: one sample with the arrays of both.
// FAILS WITH: BadInput when both have an array of the same name, at the first sample.
Dataset zip(Dataset first, Dataset second);

}  // namespace ronde::data
