#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ronde::data {

// What every sample of a source is: features of one shape and one label.
struct SampleKind {
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t classes = 2;
  std::size_t values() const { return static_cast<std::size_t>(channels * height * width); }
  friend bool operator==(const SampleKind&, const SampleKind&) = default;
};

// Samples by index. Safe to read from several threads; the same index gives the same sample, always and on every rank.
class Source {
 public:
  virtual ~Source() = default;

  virtual std::string name() const = 0;
  virtual SampleKind kind() const = 0;
  virtual std::int64_t size() const = 0;

  // Fills kind().values() values, channels first, normalised, and returns the label, 0 <= label < classes. Where the
  // source augments, the same sample looks different in every epoch, and the same in one epoch whoever reads it.
  // REQUIRES: 0 <= index < size(); values.size() == kind().values().
  // FAILS WITH: BadInput, naming file and sample.
  virtual std::int64_t read(std::int64_t index, std::int64_t epoch, std::span<float> values) const = 0;

  // Whether nobody cares which samples a batch holds: then memory that was filled once is handed out again as it is.
  virtual bool filled_once() const { return false; }
};

enum class Split { Train, Test };

// Which samples: the settings data.*, as far as they are meant for a source.
struct SourceOptions {
  std::string name = "glyphs";  // one of source_names()
  std::string path = {};        // the folder of the files
  Split split = Split::Train;
  std::int64_t samples = 0;  // 0: all there are, or as many as are usual for what is generated
  // Of what is generated; files know their own.
  std::int64_t classes = 10, channels = 1, resolution = 28;
  std::uint64_t seed = 0;  // of what is generated, and of augmentation
  bool augment = false;    // for training; only cifar10 has any: shifts by up to 4 pixels and mirrors
};

// glyphs: drawn letters and signs. mnist: IDX files, plain or .gz. cifar10: its binary files. random: numbers that mean
// nothing, made once, to see how fast training is without any input.
std::vector<std::string> source_names();

// FAILS WITH: BadInput, in one sentence that names file, offset or sample: no such source (suggesting one), files that
// are not there or hold something else, too few samples, labels outside the classes; System.
std::unique_ptr<Source> open_source(const SourceOptions& options);

}  // namespace ronde::data
