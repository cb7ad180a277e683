#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/array.h"

namespace ronde::data {

// What is to be learned of a sample.
enum class Target : std::uint8_t {
  Class,   // the one class that it is of
  Labels,  // which of the classes it has: any number of them
  Mask,    // the class of each pixel
  Input,   // itself: there is nothing besides the features
};
std::string_view name(Target target);  // "class", as data.target has it
// FAILS WITH: BadInput.
Target parse_target(std::string_view text);

// How the values of a picture lie: all of a channel together, or all channels of a pixel.
enum class Layout : std::uint8_t { ChannelsFirst, ChannelsLast };

// What every sample of a source is: features of one shape, and a target of one shape.
struct SampleKind {
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t classes = 2;  // of a sample, or of each pixel, the background included
  Target target = Target::Class;
  Layout layout = Layout::ChannelsFirst;
  bool bf16 = false;  // features are bf16 rather than f32

  std::size_t values() const { return static_cast<std::size_t>(channels * height * width); }
  // How many classes a sample comes with: its own, or one a pixel, row by row.
  std::size_t class_values() const {
    if (target == Target::Mask) return static_cast<std::size_t>(height * width);
    return target == Target::Class ? 1 : 0;
  }
  // How many flags, 1 for a label that it has and 0 for one that it has not.
  std::size_t flag_values() const { return target == Target::Labels ? static_cast<std::size_t>(classes) : 0; }
  friend bool operator==(const SampleKind&, const SampleKind&) = default;
};

// Where a sample is written: memory of the caller, as much as its kind says. What a kind has not is empty.
struct SampleSpace {
  std::span<float> features = {};
  std::span<Bf16> features16 = {};  // instead, for kinds that are bf16
  std::span<std::int64_t> classes = {};
  std::span<float> flags = {};
};

// Samples by index. Safe to read from several threads; the same index gives the same sample, always and on every rank.
class Source {
 public:
  virtual ~Source() = default;

  virtual std::string name() const = 0;
  virtual SampleKind kind() const = 0;
  virtual std::int64_t size() const = 0;

  // Writes all of a sample: features, channels first, normalised; classes, 0 <= class < kind().classes; flags. Where
  // the source augments, the same sample looks different in every epoch, and the same in one epoch whoever reads it.
  // REQUIRES: 0 <= index < size(); spans of the sizes that kind() says.
  // FAILS WITH: BadInput, naming file and sample.
  virtual void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const = 0;

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
  Target target = Target::Class;
};

// glyphs: drawn letters and signs, with any target: one sign a picture (class, input), or up to four (labels, mask);
//   masks have one class more than was asked for, 0: the background.
// text: sequences of letters in made-up languages, of which the class tells; see detail/text_source.h.
// mnist: IDX files, plain or .gz. cifar10: its binary files. Both with classes, or themselves as targets.
// random: numbers that mean nothing, with any target, made once: how fast training is without any input.
std::vector<std::string> source_names();

// Whether a source has test samples of its own, apart from those for training: mnist and cifar10 were published so.
bool comes_split(std::string_view name);

// FAILS WITH: BadInput, in one sentence that names file, offset or sample: no such source (suggesting one), a target
// that it has not, files that are not there or hold something else, too few samples, labels outside the classes;
// System.
std::unique_ptr<Source> open_source(const SourceOptions& options);

}  // namespace ronde::data
