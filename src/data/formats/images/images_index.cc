#include "ronde/data/formats/images/images_index.h"

#include <algorithm>
#include <cctype>

#include "ronde/base/error.h"
#include "ronde/data/formats/images/images_scan.h"

namespace ronde::data::files {
namespace {

constexpr IndexKind kKind{.kind = 1, .version = 1};
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;
// What changes again within this time of a scan may not show: clocks of file systems tick every few milliseconds.
constexpr std::int64_t kTickNs = 20'000'000;

}  // namespace

bool is_picture_name(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || name.starts_with('.')) return false;
  std::string ending(name.substr(dot + 1));
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return ending == "jpg" || ending == "jpeg" || ending == "png" || ending == "tif" || ending == "tiff";
}

// Texts: the names of the classes, then the folders, then the paths of the files.
std::string to_index(const ImageScan& scan) {
  Column sizes, class_ends, folder_times;
  std::vector<std::string> texts;
  std::int64_t others = 0;
  for (const auto& one : scan.classes) texts.push_back(one.name);
  for (const auto& one : scan.classes)
    for (const ScannedFolder& folder : one.folders) {
      texts.push_back(folder.path);
      folder_times.push_back(static_cast<std::uint64_t>(folder.changed_ns));
    }
  for (const auto& one : scan.classes) {
    for (const auto& file : one.files) {
      texts.push_back(file.path);
      sizes.push_back(file.bytes);
    }
    class_ends.push_back(sizes.size());
    others += one.others;
  }
  const std::vector<Column> columns{std::move(sizes),
                                    std::move(class_ends),
                                    std::move(folder_times),
                                    {static_cast<std::uint64_t>(scan.began_ns), static_cast<std::uint64_t>(others)}};
  return make_index(kKind, columns, texts);
}

ImageIndex::ImageIndex(std::string_view bytes, const std::string& name) : view_(bytes, kKind, kColumns, name) {
  const auto damaged = [&](const char* how) { return Error::bad_input("the index {} is damaged: {}", name, how); };
  const std::size_t classes = view_.length(kClassEnds), files = view_.length(kSizes);
  if (view_.texts() != classes + view_.length(kFolderTimes) + files || view_.length(kFacts) != 2)
    throw damaged("its columns do not match");
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    const std::uint64_t next = view_.number(kClassEnds, i);
    if (next < end || next > files) throw damaged("its classes overlap");
    end = next;
  }
  if (end != files) throw damaged("some files have no class");
  for (std::size_t i = 0; i < files; ++i)
    if (view_.number(kSizes, i) > kLargestFile) throw damaged("a file size is out of range");
}

std::vector<std::string> ImageIndex::classes() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < view_.length(kClassEnds); ++i) names.emplace_back(view_.text(i));
  return names;
}

std::int64_t ImageIndex::class_of(std::int64_t index) const {
  std::size_t low = 0, high = view_.length(kClassEnds) - 1;  // the first class that ends after the index
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (view_.number(kClassEnds, middle) > static_cast<std::uint64_t>(index))
      high = middle;
    else
      low = middle + 1;
  }
  return static_cast<std::int64_t>(low);
}

std::string ImageIndex::path_of(std::int64_t index) const {
  const std::size_t before = view_.length(kClassEnds) + view_.length(kFolderTimes);
  std::string path(view_.text(static_cast<std::size_t>(class_of(index))));
  path += '/';
  return path += view_.text(before + static_cast<std::size_t>(index));
}

std::int64_t ImageIndex::others() const {
  return static_cast<std::int64_t>(view_.number(kFacts, 1));
}

bool ImageIndex::is_fresh(const std::filesystem::path& folder) const {
  const auto scanned = static_cast<std::int64_t>(view_.number(kFacts, 0));
  const std::size_t classes = view_.length(kClassEnds);
  for (std::size_t i = 0; i < view_.length(kFolderTimes); ++i) {
    const auto changed = static_cast<std::int64_t>(view_.number(kFolderTimes, i));
    if (changed > scanned - kTickNs || folder_changed_ns(folder / view_.text(classes + i)) != changed) return false;
  }
  return list_class_folders(folder) == this->classes();
}

}  // namespace ronde::data::files
