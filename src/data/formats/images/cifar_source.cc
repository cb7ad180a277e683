#include "ronde/data/formats/images/cifar_source.h"

#include <array>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::data::detail {
namespace {

constexpr SampleKind kKind = {.channels = 3, .height = 32, .width = 32, .classes = 10};

// Of the training pictures: red, green, blue.
constexpr auto kNormals = std::to_array<Normal>({{0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}});

std::vector<std::string> files_of(Split split) {
  if (split == Split::Test) return {"test_batch.bin"};
  return {kCifar10Training.begin(), kCifar10Training.end()};
}

}  // namespace

void add_cifar_records(PictureSet& set, FileBytes file, std::size_t label_bytes) {
  const Bytes bytes = file.bytes();
  const std::size_t record = label_bytes + set.kind.values();
  const std::size_t records = bytes.size() / record;
  if (records == 0 || bytes.size() % record != 0)
    throw Error::bad_input("{}: the file ends at byte {}, inside record {}; records have {} bytes", file.name(),
                           bytes.size(), records, record);
  for (std::size_t i = 0; i < records; ++i) {
    const std::size_t at = i * record + label_bytes - 1;
    check_label(bytes[at], set.kind.classes, file.name(), static_cast<std::int64_t>(i), at);
    set.labels.push_back(bytes[at]);
  }
  set.runs.push_back(
      {.first = bytes.data() + label_bytes, .count = static_cast<std::int64_t>(records), .stride = record});
  set.files.push_back(std::move(file));
}

std::unique_ptr<Source> open_cifar10(const SourceOptions& options) {
  PictureSet set{.name = options.name, .kind = kKind, .normals = {kNormals.begin(), kNormals.end()}};
  for (const std::string& name : files_of(options.split))
    add_cifar_records(set, FileBytes(find_data_file(options.name, options.path, std::array{name})));
  return make_picture_source(std::move(set), options);
}

}  // namespace ronde::data::detail
