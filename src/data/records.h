#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/order/batch_plan.h"
#include "ronde/data/sample.h"

namespace ronde::data {

// Samples as they are stored, by index: an image folder, a tar, a pack. Opening one reads an index and no sample; what
// cannot be told without reading a sample is found out by read().
// Safe to call from several threads; the same index gives the same sample, always and on every rank.
class Records {
 public:
  virtual ~Records() = default;

  virtual std::string name() const = 0;  // of the folder or file, for messages
  virtual std::int64_t size() const = 0;

  // Waits for storage; computes as little as can be.
  // REQUIRES: 0 <= index < size().
  // FAILS WITH: BadInput, System; in one sentence that names file and offset.
  virtual Sample read(std::int64_t index) const = 0;

  // How much memory read() will take, an upper bound that is near; asked before, and must cost next to nothing.
  virtual std::size_t bytes(std::int64_t index) const = 0;

  // Where a sample lies, for people: "dog/12.jpg", "train-0003.tfrecord at offset 1234".
  virtual std::string where(std::int64_t index) const = 0;

  // What tells samples apart for good, also when others are added: file name, key. Default: the index.
  virtual std::string key(std::int64_t index) const;

  // The names of the classes that "class" counts, where the files say so.
  virtual std::vector<std::string> classes() const { return {}; }

  // Runs of samples that lie one after the other and are best read so; together all samples, in order. Default: one.
  virtual std::vector<Range> chunks() const;
};

// Says how far something long has come, from any thread, now and then: so many of so many (0: unknown).
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

struct RecordsOptions {
  std::filesystem::path path = {};
  std::string format = "auto";  // one of record_formats(); auto: as the path looks
  // Which arrays are the picture and the class, where the file calls them otherwise; empty: the usual names.
  std::string image = {}, label = {};
  // Where indexes go that cannot be kept beside the data; empty: nowhere.
  std::filesystem::path cache = {};
  Progress progress = {};  // of a first scan
};

// images, tar, tfrecord, lmdb, hdf5, csv, npy, idx, cifar, pack, bigearthnet; those that this build has.
std::vector<std::string> record_formats();

// What the path looks like, by its name and its first bytes. FAILS WITH: BadInput, with what was looked for.
std::string guess_format(const std::filesystem::path& path);

// FAILS WITH: BadInput, in one sentence that names file, offset or folder: no such format (suggesting one), nothing
// there, a class without pictures, a shard that is missing; System.
std::unique_ptr<Records> open_records(const RecordsOptions& options);

}  // namespace ronde::data
