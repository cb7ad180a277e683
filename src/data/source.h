#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/sample_kind.h"

namespace ronde::data {

class Records;

// A source whose samples lie in files: what read() does in two steps, so that one sample can be waited for while
// another is decoded.
struct StoredParts {
  std::shared_ptr<const Records> records = {};
  std::shared_ptr<const Decoder> decoder = {};
  std::uint64_t seed = 0;  // of augmentation
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

  // Nothing: read() needs no files.
  virtual const StoredParts* stored() const { return nullptr; }
  // Which of the records a sample is.
  virtual std::int64_t stored_index(std::int64_t index) const { return index; }

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
  bool augment = false;    // for training; only cifar10 has any (shifts by up to 4 pixels and mirrors), and pictures
  Target target = Target::Class;

  // Of what lies in files of its own (images, pack, tar ...). There, 0 channels or a resolution of 0 mean: as is usual
  // for what the files hold; classes count where files do not name theirs.
  std::string test_path = {};
  std::string image = {}, label = {};  // see RecordsOptions
  std::string normalize = {};          // as data.normalize
  std::string cache = {};              // as data.cache
  std::filesystem::path index_cache = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};  // of a first scan
  PictureOptions picture = {};  // crop, flip, rotate, jitter and cutout, and the layout
};

// glyphs: drawn letters and signs, with any target: one sign a picture (class, input), or up to four (labels, mask);
//   masks have one class more than was asked for, 0: the background.
// text: sequences of letters in made-up languages, of which the class tells; see detail/text_source.h.
// mnist: IDX files, plain or .gz. cifar10: its binary files. Both with classes, or themselves as targets.
// images, pack, tar, tfrecord, lmdb, hdf5, csv, npy, bigearthnet: samples in files, see records.h.
// random: numbers that mean nothing, with any target, made once: how fast training is without any input.
std::vector<std::string> source_names();

// Whether a source lies in files of any layout and format, see records.h.
bool is_stored(std::string_view name);

// Whether a source has test samples of its own, apart from those for training: mnist and cifar10 were published so, and
// files may lie in folders of their own.
bool comes_split(const SourceOptions& options);

// FAILS WITH: BadInput, in one sentence that names file, offset or sample: no such source (suggesting one), a target
// that it has not, files that are not there or hold something else, too few samples, labels outside the classes;
// System.
std::unique_ptr<Source> open_source(const SourceOptions& options);

}  // namespace ronde::data
