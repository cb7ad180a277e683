#include "ronde/data/formats/images/idx_source.h"

#include <array>
#include <limits>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::data::detail {
namespace {

constexpr std::uint8_t kUnsignedBytes = 8;  // IDX's number for the type
constexpr std::int64_t kClasses = 10;
constexpr Normal kMnist = {.mean = 0.1307f, .deviation = 0.3081f};  // of the training pictures

std::int64_t big_endian(Bytes bytes, std::size_t at) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | bytes[at + i];
  return number;
}

std::filesystem::path find_file(const SourceOptions& options, const std::string& what, int dimensions) {
  const std::string start = options.split == Split::Train ? "train-" : "t10k-";
  // As the site of MNIST has always called them, and as some archives unpack them.
  const std::array names = {start + what + "-idx" + std::to_string(dimensions) + "-ubyte",
                            start + what + ".idx" + std::to_string(dimensions) + "-ubyte"};
  return find_data_file(options.name, options.path, names);
}

}  // namespace

Idx parse_idx(Bytes file, std::size_t dimensions, const std::string& name) {
  const std::size_t header = 4 + 4 * dimensions;
  if (file.size() < header)
    throw Error::bad_input("{}: the file ends at byte {}, inside its header of {} bytes", name, file.size(), header);
  if (file[0] != 0 || file[1] != 0 || file[2] != kUnsignedBytes || file[3] != dimensions)
    throw Error::bad_input(
        "{}: byte 0: expected an IDX file of bytes in {} dimensions (00 00 08 {:02x}), got {:02x} {:02x} {:02x} {:02x}",
        name, dimensions, dimensions, file[0], file[1], file[2], file[3]);
  Idx idx{.values = file.subspan(header)};
  std::size_t values = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    idx.extents.push_back(big_endian(file, 4 + 4 * d));
    const auto extent = static_cast<std::size_t>(idx.extents.back());
    if (extent == 0) throw Error::bad_input("{}: byte {}: dimension {} is 0", name, 4 + 4 * d, d);
    if (values > std::numeric_limits<std::size_t>::max() / 2 / extent)
      throw Error::bad_input("{}: byte {}: the sizes in the header are too large for a file", name, 4 + 4 * d);
    values *= extent;
  }
  if (idx.values.size() != values)
    throw Error::bad_input("{}: the file ends at byte {}, but its header announces {} bytes", name, file.size(),
                           header + values);
  return idx;
}

PictureSet read_idx(const std::filesystem::path& pictures_path, const std::filesystem::path& labels_path,
                    std::int64_t classes) {
  FileBytes pictures(pictures_path);
  const FileBytes labels(labels_path);
  const Idx shown = parse_idx(pictures.bytes(), 3, pictures.name());
  const Idx meant = parse_idx(labels.bytes(), 1, labels.name());
  if (shown.extents[0] != meant.extents[0])
    throw Error::bad_input("{} holds {} pictures, but {} holds {} labels", pictures.name(), shown.extents[0],
                           labels.name(), meant.extents[0]);
  for (std::size_t i = 0; i < meant.values.size(); ++i)
    check_label(meant.values[i], classes, labels.name(), static_cast<std::int64_t>(i), 8 + i);

  PictureSet set{.kind = {.channels = 1, .height = shown.extents[1], .width = shown.extents[2], .classes = classes},
                 .labels = {meant.values.begin(), meant.values.end()},
                 .normals = {kMnist}};
  set.runs.push_back({.first = shown.values.data(), .count = shown.extents[0], .stride = set.kind.values()});
  set.files.push_back(std::move(pictures));
  return set;
}

std::unique_ptr<Source> open_mnist(const SourceOptions& options) {
  const std::filesystem::path pictures = find_file(options, "images", 3);
  PictureSet set = read_idx(pictures, find_file(options, "labels", 1), kClasses);
  set.name = options.name;
  SourceOptions plain = options;
  plain.augment = false;  // a digit that is mirrored is no digit
  return make_picture_source(std::move(set), plain);
}

}  // namespace ronde::data::detail
