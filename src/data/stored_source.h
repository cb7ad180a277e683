#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "ronde/data/records.h"
#include "ronde/data/source.h"
#include "ronde/data/training/preparation.h"

namespace ronde::data {

// What lies in files as samples for training: records of any format, and the decoder that fits them.
class StoredSource : public Source {
 public:
  // The first `samples` of the records; 0: all. FAILS WITH: BadInput when there are fewer.
  StoredSource(StoredParts parts, std::int64_t samples);

  std::string name() const override;
  SampleKind kind() const override;
  std::int64_t size() const override { return size_; }
  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override;
  const StoredParts* stored() const override { return &parts_; }

 private:
  const StoredParts parts_;
  std::int64_t size_;
};

// Where the samples of a split lie: options.path, its folder "train", "val", "validation" or "test", or
// options.test_path. Empty: there are no test samples apart. FAILS WITH: BadInput when no path was given.
std::filesystem::path stored_path(const SourceOptions& options);

// Opens options.path as `format` (see open_records), looks at the first sample, and takes the decoder for it: pictures
// are cropped and normalised as options.picture says; numbers are taken as they are.
// FAILS WITH: BadInput, also for samples that are neither; System.
std::unique_ptr<Source> open_stored(const SourceOptions& options);

// The same, of files that are open already. FAILS WITH: as open_stored().
std::unique_ptr<Source> stored_as(const SourceOptions& options, std::shared_ptr<const Records> records);

// What becomes of such samples, by the first of them that can be read. FAILS WITH: as Records::read().
Preparation stored_preparation(const Records& records);

// Numbers of any type and one shape as features: [n], [h,w], or [c,h,w]. "class" or "labels" is what is to be learned.
// FAILS WITH: BadInput for arrays of other shapes.
std::unique_ptr<Decoder> make_array_decoder(const Sample& first, Target target, std::int64_t classes);

// Records that are read once and kept: "ram" (memory that the processes of this node share), or a folder.
// FAILS WITH: as make_folder_cache.
std::shared_ptr<const Records> cached(std::shared_ptr<const Records> records, const std::string& cache);

}  // namespace ronde::data
