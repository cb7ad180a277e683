#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/sample.h"

namespace ronde::data {

// Writes samples into files of some format, one after the other. Nothing has the name that was asked for before
// finish(); a writer that is destroyed before removes what it has written. Not thread-safe.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;

  // `key` is what the sample is called (Records::key); formats without keys keep it as an array "key".
  // FAILS WITH: BadInput: an array that the format cannot hold, a key that comes twice; System: a full disk.
  virtual void add(const Sample& sample, std::string_view key) = 0;

  // Everything is on the disk. To be called once, after the last sample. FAILS WITH: System.
  virtual void finish() = 0;
};

struct WriterOptions {
  std::filesystem::path path = {};
  std::string format = {};                // one of writer_formats()
  std::vector<std::string> classes = {};  // their names, where they are known
};

// tfrecord, lmdb, hdf5, npy, csv, images, tar: those that this build can write.
std::vector<std::string> writer_formats();

// tfrecord: a file, where the path ends in .tfrecord, otherwise a folder of shards of about 256 MiB.
// lmdb: a folder with data.mdb; values are tf.train.Examples. hdf5: a file, a dataset an array.
// npy: a folder, a file an array; all samples have the same arrays of the same shapes.
// csv: a file of numbers and texts; no encoded pictures. images: a folder a class, of encoded pictures.
// tar: a folder of WebDataset's tars of about 256 MiB; a sample is bytes and a class.
// FAILS WITH: BadInput: no such format (suggesting one), something that is there already; System.
std::unique_ptr<RecordWriter> make_writer(const WriterOptions& options);

}  // namespace ronde::data
