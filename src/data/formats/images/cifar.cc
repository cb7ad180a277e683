#include "ronde/data/formats/images/cifar.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/images/cifar_source.h"
#include "ronde/data/formats/images/picture_set.h"
#include "ronde/data/formats/naming.h"

namespace ronde::data::files {
namespace {

// CIFAR-100's files; all others are taken for CIFAR-10's.
bool is_hundred(const std::string& name) {
  return name == "train.bin" || name == "test.bin";
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return {path};
  if (std::filesystem::exists(path / "train.bin", ignored)) return {path / "train.bin"};
  std::vector<std::filesystem::path> files;
  for (const char* name : detail::kCifar10Training) {
    if (!std::filesystem::exists(path / name, ignored))
      throw Error::bad_input(
          "{} is missing: the training pictures of CIFAR-10 are data_batch_1.bin to data_batch_5.bin",
          (path / name).string());
    files.push_back(path / name);
  }
  return files;
}

std::vector<std::string> names_beside(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : {"batches.meta.txt", "fine_label_names.txt"}) {
    if (!std::filesystem::is_regular_file(folder / name, ignored)) continue;
    const detail::FileBytes file(folder / name);
    std::vector<std::string> names;
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    for (const std::string_view line : split(text, '\n'))
      if (!trim(line).empty()) names.emplace_back(trim(line));
    return names;
  }
  return read_classes(folder);
}

}  // namespace

std::unique_ptr<Records> open_cifar(const RecordsOptions& options) {
  const auto files = files_of(options.path);
  const bool hundred = is_hundred(files.front().filename().string());
  detail::PictureSet set{.kind = {.channels = 3, .height = 32, .width = 32, .classes = hundred ? 100 : 10}};
  for (const auto& file : files) detail::add_cifar_records(set, detail::FileBytes(file), hundred ? 2 : 1);
  const std::filesystem::path folder = files.front().parent_path();
  return make_picture_records(options.path.string(), std::move(set), names_beside(folder.empty() ? "." : folder));
}

bool looks_like_cifar(const std::filesystem::path& path) {
  const auto known = [](const std::string& name) {
    return is_hundred(name) || name == "test_batch.bin" ||
           std::ranges::find(detail::kCifar10Training, name) != detail::kCifar10Training.end();
  };
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return known(path.filename().string());
  return std::filesystem::exists(path / detail::kCifar10Training[0], ignored) ||
         std::filesystem::exists(path / "train.bin", ignored);
}

}  // namespace ronde::data::files
