#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/sample.h"

namespace ronde::data {

// Writes samples into files of some format. Nothing has the name that was asked for before finish(); a writer that is
// destroyed before removes what it has written, unless it was saved. All but prepare() belongs to one thread.
class RecordWriter {
 public:
  // A sample as this writer keeps it.
  struct Prepared {
    std::int64_t number = 0;
    std::string key = {};
    Sample sample = {};      // what is still needed of it,
    std::string bytes = {};  // and what it has become
  };

  // What has reached the disk, for another writer to go on from: files, and how long each of them is.
  struct Saved {
    struct File {
      std::string name;
      std::uint64_t bytes = 0;
      friend bool operator==(const File&, const File&) = default;
    };
    std::int64_t samples = 0;
    std::vector<File> files = {};
    friend bool operator==(const Saved&, const Saved&) = default;
  };

  virtual ~RecordWriter() = default;

  // Does what can be done for a sample without those before it. `key` is what it is called (Records::key); formats
  // without keys keep it as an array "key". `number` counts samples from 0. Safe to call from any thread.
  // FAILS WITH: BadInput: an array that the format cannot hold; System: a full disk.
  virtual Prepared prepare(const Sample& sample, std::string_view key, std::int64_t number) const = 0;

  // The next sample, in the order of their numbers. FAILS WITH: BadInput: a key that comes twice, a sample that is not
  // as those before it; System: a full disk.
  virtual void put(Prepared prepared) = 0;

  // Everything is on the disk. To be called once, after the last sample. FAILS WITH: System.
  virtual void finish() = 0;

  // Sees what was put so far to the disk, where the format can be gone on with later. FAILS WITH: System.
  virtual std::optional<Saved> save() { return {}; }

  // Both, for who has one sample after the other.
  void add(const Sample& sample, std::string_view key) { put(prepare(sample, key, added_++)); }

 private:
  std::int64_t added_ = 0;
};

struct WriterOptions {
  std::filesystem::path path = {};
  std::string format = {};                // one of writer_formats()
  std::vector<std::string> classes = {};  // their names, where they are known
  // Go on where a writer of the same path, format and classes was when it was saved; with its first sample ("key" is in
  // it), as some formats want the others to be like it.
  std::optional<RecordWriter::Saved> saved = {};
  Sample first = {};
};

// tfrecord, lmdb, hdf5, npy, csv, images, tar: those that this build can write.
std::vector<std::string> writer_formats();

// tfrecord: a file, where the path ends in .tfrecord, otherwise a folder of shards of about 256 MiB.
// lmdb: a folder with data.mdb; values are tf.train.Examples. hdf5: a file, a dataset an array.
// npy: a folder, a file an array; all samples have the same arrays of the same shapes.
// csv: a file of numbers and texts; no encoded pictures. images: a folder a class, of encoded pictures.
// tar: a folder of WebDataset's tars of about 256 MiB; a sample is bytes and a class.
// lmdb and hdf5 cannot be saved.
// FAILS WITH: BadInput: no such format (suggesting one), something that is there already, what was saved is not there;
// System.
std::unique_ptr<RecordWriter> make_writer(const WriterOptions& options);

// Where a writer of this path keeps what is not finished, and a place beside it for notes about that.
struct UnfinishedPaths {
  std::filesystem::path data, notes;
};
// FAILS WITH: BadInput for a path without a name.
UnfinishedPaths unfinished_paths(const std::filesystem::path& path);
// Removes all of it. What cannot be removed stays.
void remove_unfinished(const std::filesystem::path& path);

}  // namespace ronde::data
