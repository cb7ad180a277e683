#include "ronde/data/formats/images/idx.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/images/idx_source.h"
#include "ronde/data/formats/images/picture_set.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/io/file_bytes.h"

namespace ronde::data::files {
namespace {

constexpr std::int64_t kLabelValues = 256;  // a byte each

bool are_pictures(const std::string& name) {
  return name.find("images") != std::string::npos && name.find("idx3") != std::string::npos;
}

std::vector<std::string> pictures_in(const std::filesystem::path& folder) {
  std::error_code failure;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(folder, failure);
  if (failure) throw Error::system(failure.value(), "cannot read the folder {}", folder.string());
  for (const auto& entry : entries)
    if (std::string name = entry.path().filename().string(); are_pictures(name)) {
      if (name.ends_with(".gz")) name.resize(name.size() - 3);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  std::ranges::sort(names);
  return names;
}

std::string choose(const std::filesystem::path& folder) {
  const auto names = pictures_in(folder);
  if (names.empty())
    throw Error::bad_input("{} holds no IDX file of pictures (NAME-images-idx3-ubyte)", folder.string());
  if (names.size() == 1) return names.front();
  const auto training = [](const std::string& name) { return name.starts_with("train"); };
  if (std::ranges::count_if(names, training) == 1) return *std::ranges::find_if(names, training);
  throw Error::bad_input("{} holds several data sets: choose one of {}", folder.string(), join(names, ", "));
}

std::string labels_for(std::string pictures) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"images", "labels"}, {"idx3", "idx1"}})
    if (const std::size_t at = pictures.find(from); at != std::string::npos) pictures.replace(at, from.size(), to);
  return pictures;
}

}  // namespace

std::unique_ptr<Records> open_idx(const RecordsOptions& options) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(options.path, ignored);
  const std::filesystem::path where = folder ? options.path : options.path.parent_path();
  std::string name = folder ? choose(where) : options.path.filename().string();
  if (!folder && !are_pictures(name))
    throw Error::bad_input("{}: an IDX file of pictures must be named NAME-images-idx3-ubyte", options.path.string());
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::filesystem::path here = where.empty() ? "." : where;
  const auto pictures = detail::find_data_file("idx", here, std::array{name});
  const auto labels = detail::find_data_file("idx", here, std::array{labels_for(name)});
  return make_picture_records(options.path.string(), detail::read_idx(pictures, labels, kLabelValues),
                              read_classes(here));
}

bool looks_like_idx(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return are_pictures(path.filename().string());
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
    if (are_pictures(entry.path().filename().string())) return true;
  return false;
}

}  // namespace ronde::data::files
