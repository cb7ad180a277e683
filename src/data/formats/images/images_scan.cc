#include "ronde/data/formats/images/images_scan.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/data/formats/images/images_index.h"
#include "ronde/data/io/parallel.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 40;
constexpr std::int64_t kTellEvery = 1000;  // files

std::int64_t changed_ns_of(const struct stat& facts) {
  return std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

Error cannot_read(int number, const fs::path& path) {
  if (number == ENOENT) return Error::bad_input("the folder {} does not exist", path.string());
  if (number == ENOTDIR) return Error::bad_input("{} is not a folder", path.string());
  if (number == EACCES) return Error::bad_input("cannot read the folder {}: permission denied", path.string());
  return Error::system(number, "cannot read the folder {}", path.string());
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// An open folder, and what is in it.
class OpenFolder {
 public:
  explicit OpenFolder(const fs::path& path) : path_(path), folder_(::opendir(path.c_str())) {
    if (!folder_) throw cannot_read(errno, path);
  }

  std::int64_t changed_ns() const {
    struct stat facts {};
    if (::fstat(::dirfd(folder_.get()), &facts) != 0) throw cannot_read(errno, path_);
    return changed_ns_of(facts);
  }

  // Null at the end.
  const dirent* next() {
    errno = 0;
    const dirent* entry = ::readdir(folder_.get());
    if (entry == nullptr && errno != 0) throw cannot_read(errno, path_);
    return entry;
  }

  // Of what is called so in it, links followed. Nothing: a link to nowhere.
  std::optional<struct stat> facts_of(const char* name) const {
    struct stat facts {};
    if (::fstatat(::dirfd(folder_.get()), name, &facts, 0) == 0) return facts;
    if (errno == ENOENT || errno == ELOOP) return {};
    throw Error::system(errno, "cannot read the properties of {}", (path_ / name).string());
  }

  // As the folder says, where it does; a file system need not.
  bool is_folder(const dirent& entry) const {
    if (entry.d_type == DT_DIR) return true;
    if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return false;
    const auto facts = facts_of(entry.d_name);
    return facts && S_ISDIR(facts->st_mode);
  }

 private:
  const fs::path path_;
  const std::unique_ptr<DIR, CloseFolder> folder_;
};

class ClassScan {
 public:
  ClassScan(const fs::path& data, std::string name, const Progress& progress, std::atomic<std::int64_t>& found)
      : data_(data), progress_(progress), found_(found) {
    class_.name = std::move(name);
  }

  ImageScan::Class run() {
    look(class_.name, "", 0);
    if (class_.files.empty())
      throw Error::bad_input("the class folder {} holds no pictures (jpg, jpeg, png, tif, tiff)",
                             (data_ / class_.name).string());
    std::ranges::sort(class_.files, {}, &ImageScan::File::path);
    return std::move(class_);
  }

 private:
  // `folder` from the data set's folder, `prefix` from the class's.
  void look(const std::string& folder, const std::string& prefix, int depth) {
    if (depth > kDeepest)
      throw Error::bad_input("folders are nested more than {} deep at {}; is there a link to a parent folder?",
                             kDeepest, (data_ / folder).string());
    OpenFolder open(data_ / folder);
    class_.folders.push_back({folder, open.changed_ns()});  // before its files: later changes make it stale
    std::vector<std::string> below;
    while (const dirent* entry = open.next()) {
      const std::string name = entry->d_name;
      if (name.starts_with('.')) continue;
      if (is_picture_name(name))
        add(open, prefix + name, name);
      else if (open.is_folder(*entry))
        below.push_back(name);
      else
        ++class_.others;
    }
    std::ranges::sort(below);
    for (const std::string& name : below) look(folder + '/' + name, prefix + name + '/', depth + 1);
  }

  void add(const OpenFolder& open, const std::string& path, const std::string& name) {
    const auto facts = open.facts_of(name.c_str());
    if (!facts || !S_ISREG(facts->st_mode))
      throw Error::bad_input("{} has the name of a picture but is not a file", (data_ / class_.name / path).string());
    class_.files.push_back({path, static_cast<std::uint64_t>(facts->st_size)});
    const std::int64_t now = ++found_;
    if (progress_ && now % kTellEvery == 0) progress_(now, 0);
  }

  const fs::path& data_;
  const Progress& progress_;
  std::atomic<std::int64_t>& found_;
  ImageScan::Class class_;
};

}  // namespace

std::vector<std::string> list_class_folders(const fs::path& folder) {
  OpenFolder open(folder);
  std::vector<std::string> names;
  while (const dirent* entry = open.next())
    if (entry->d_name[0] != '.' && open.is_folder(*entry)) names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

std::optional<std::int64_t> folder_changed_ns(const fs::path& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return {};
  return changed_ns_of(facts);
}

ImageScan scan_images(const fs::path& folder, const Progress& progress) {
  ImageScan scan;
  scan.began_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::vector<std::string> names = list_class_folders(folder);
  if (names.empty())
    throw Error::bad_input("{} has no class folders: put pictures into one folder per class, for example {}/dog/12.jpg",
                           folder.string(), folder.filename().string());
  scan.classes.resize(names.size());
  std::atomic<std::int64_t> found{0};
  // Folders of a parallel file system answer late rather than slowly: more threads than cores.
  const int threads = 4 * detail::usable_threads();
  detail::parallel_for(static_cast<std::int64_t>(names.size()), threads, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    scan.classes[at] = ClassScan(folder, names[at], progress, found).run();
  });
  if (progress) progress(found, found);
  return scan;
}

}  // namespace ronde::data::files
