#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/data/records.h"
#include "ronde/data/tools/record_writer.h"

namespace ronde::data::detail {
class GrowingFile;
}

namespace ronde::data::files {

// Tar files as WebDataset keeps samples in them: one .tar, all of a folder, or a pattern, data-{000..012}.tar. Files
// that follow one another and share their name up to the first dot are one sample: "image" from .jpg, .jpeg, .png, .tif
// or .tiff (the first of these that it has), "class" from .cls (a number as text), others by their ending ("json"), and
// "key". The first opening goes through the headers and keeps an index beside each tar, .NAME.tar.ronde-index, or in
// options.cache; then any sample is one read away.
// Names of classes come from classes.txt beside them (naming.h).
// options.image and .label: the endings that are picture and class instead.
// FAILS WITH: BadInput that names file and offset: cut off, a damaged header, a shard that is missing; System.
std::unique_ptr<Records> open_tar(const RecordsOptions& options);

bool looks_like_tar(const std::filesystem::path& path);

// The ending under which the bytes of a picture are filed, by their first bytes; "bin" for what is none of them.
std::string picture_ending(std::string_view bytes);

// A sample as files in a tar. `number` is its name where it has no key. FAILS WITH: BadInput for what a tar cannot
// hold: arrays that are no bytes, no key that a file could have.
std::string tar_members(const Sample& sample, std::int64_t number);

struct TarWriterOptions {
  std::filesystem::path folder = {};
  std::string name = "data";                             // of the files: data-00000.tar
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;  // a new file begins before it would be longer
  std::optional<RecordWriter::Saved> saved = {};         // go on where a writer into this folder was saved
};

// Writes samples into tars of about one size: "image" under the ending of what it is, "class" as .cls, "json" and
// other bytes by their name, "key" as the name of all. A tar has its name only when it is whole.
//
//   TarWriter writer({.folder = "out"});
//   for (...) writer.add(sample);
//   writer.finish();
//
// Not thread-safe.
class TarWriter {
 public:
  // FAILS WITH: System.
  explicit TarWriter(TarWriterOptions options);
  ~TarWriter();  // what was not finished goes, unless it was saved
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // FAILS WITH: as tar_members(); System.
  void add(const Sample& sample) { put(tar_members(sample, saved_.samples)); }
  // The files of one sample, as tar_members() makes them. FAILS WITH: System.
  void put(const std::string& members);
  // Sees all of it to the disk, to be gone on with. FAILS WITH: System.
  RecordWriter::Saved save();
  // FAILS WITH: System. Returns how many tars there are.
  std::int64_t finish();

 private:
  void go_on();
  void close();
  std::filesystem::path final_path() const;
  std::filesystem::path partial_path() const;

  const TarWriterOptions options_;
  std::unique_ptr<detail::GrowingFile> file_;
  RecordWriter::Saved saved_;  // without the tar that is being written
  bool keep_ = false;
};

}  // namespace ronde::data::files
