#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/tar/tar.h"
#include "ronde/data/formats/typed.h"
#include "ronde/data/formats/uniform.h"
#include "ronde/data/formats/writers.h"
#include "ronde/data/io/file_io.h"
#include "ronde/data/io/growing_file.h"

namespace ronde::data::files {
namespace {

constexpr const char* kNew = ".new";  // pictures that have no name yet
// Names that were given since it was saved, with their numbers, each with a 0 behind it; and those before, since nobody
// may have heard yet that it was saved again.
constexpr std::array<const char*, 2> kNames = {".names-0", ".names-1"};

// A file of its own for each encoded picture, in the folder of its class. Any thread writes pictures under their
// numbers; they get their names in order. Those names are noted before, so that who goes on after a program that was
// killed knows what to take away: a name that is there for another reason is that of two samples.
class ImagesWriter : public RecordWriter {
 public:
  explicit ImagesWriter(const WriterOptions& options) : path_(options.path), classes_(options.classes) {
    if (options.saved) {
      samples_ = options.saved->samples;
      take_back();
    } else {
      std::filesystem::create_directory(path_);
    }
    std::filesystem::create_directory(path_ / kNew);
    names_.emplace(names_path(0));
  }

  Prepared prepare(const Sample& sample, std::string_view key, std::int64_t number) const override {
    const Array* image = sample.find("image");
    const std::string ending = image && is_bytes(*image) ? picture_ending(image->text()) : "bin";
    if (ending == "bin")
      throw Error::bad_input("sample '{}' has no encoded picture (JPEG, PNG, TIFF) to write to a file", key);
    Prepared prepared{.number = number, .key = std::string(key)};
    prepared.bytes = class_folder(sample, key) + "/" + file_stem(key) + "." + ending;
    const std::string path = new_path(number).string();
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file) throw Error::system(errno, "cannot write {}", path);
    detail::write_all(file, image->text(), path);
    return prepared;
  }

  void put(Prepared prepared) override {
    const std::filesystem::path path = path_ / prepared.bytes;
    std::error_code failure;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, failure)))
      throw Error::bad_input("two samples of one class have the name '{}'", prepared.key);
    names_->append(fmt::format("{}:{}", prepared.number, prepared.bytes) + '\0');
    names_->flush();
    std::filesystem::create_directory(path.parent_path(), failure);
    if (!failure) std::filesystem::rename(new_path(prepared.number), path, failure);
    if (failure) throw Error::system(failure.value(), "cannot write {}", path.string());
    ++samples_;
  }

  std::optional<Saved> save() override {
    sync();
    names_.emplace(names_path(++saves_));
    return Saved{.samples = samples_};
  }

  void finish() override {
    sync();
    names_.reset();
    std::error_code ignored;  // no picture has such a name
    std::filesystem::remove_all(path_ / kNew, ignored);
    for (const std::size_t which : {0, 1}) std::filesystem::remove(names_path(which), ignored);
  }

 private:
  std::string class_folder(const Sample& sample, std::string_view key) const {
    const Array* label = sample.find("class");
    if (!label) throw Error::bad_input("sample '{}' has no class; the images format writes one folder per class", key);
    const std::int64_t number = whole_number(*label, fmt::format("sample '{}': its class", key));
    if (number < 0 || (!classes_.empty() && static_cast<std::size_t>(number) >= classes_.size()))
      throw Error::bad_input("sample '{}': class {} is out of range; there are {} classes", key, number,
                             classes_.size());
    // Folders are counted in the order of their names: numbers need their zeros.
    const std::string name =
        classes_.empty() ? fmt::format("{:06}", number) : classes_[static_cast<std::size_t>(number)];
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      throw Error::bad_input("class '{}' cannot be the name of a folder", name);
    return name;
  }

  // The key without folders before it and the ending of a picture after it.
  static std::string file_stem(std::string_view key) {
    std::string stem = std::filesystem::path(key).filename().string();
    for (const std::string_view ending : {".jpg", ".jpeg", ".JPG", ".JPEG", ".png", ".PNG", ".tif", ".tiff"})
      if (stem.ends_with(ending)) {
        stem.resize(stem.size() - ending.size());
        break;
      }
    for (char& letter : stem)
      if (letter == '\0' || letter == '/') letter = '_';
    if (stem.empty() || stem.starts_with('.')) throw Error::bad_input("'{}' cannot be the name of a file", key);
    return stem;
  }

  std::filesystem::path new_path(std::int64_t number) const { return path_ / kNew / std::to_string(number); }

  void sync() const {
    const FileDescriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::syncfs(folder.get()) != 0) throw Error::system(errno, "cannot write {}", path_.string());
  }

  std::string names_path(std::size_t save) const { return (path_ / kNames[save % kNames.size()]).string(); }

  // What came after it was saved.
  void take_back() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_ / kNew, ignored);
    for (const std::size_t which : {0, 1}) {
      const std::string path = names_path(which);
      if (!std::filesystem::exists(path, ignored)) continue;
      const FileDescriptor file = detail::open_to_read(path);
      const std::string names = detail::read_exactly(file, 0, detail::facts_of(file, path).bytes, path);
      for (std::size_t begin = 0, end; (end = names.find('\0', begin)) != std::string::npos; begin = end + 1)
        take_back(std::string_view(names).substr(begin, end - begin), path);
    }
  }

  void take_back(std::string_view note, const std::string& from) const {
    const std::size_t colon = std::min(note.find(':'), note.size());
    const auto number = parse_number<std::int64_t>(note.substr(0, colon));
    const std::filesystem::path name = note.substr(std::min(colon + 1, note.size()));
    if (!number || name.empty() || name.is_absolute() || *name.begin() == "..")
      throw Error::bad_input("{} is damaged", from);
    std::error_code ignored;
    if (*number >= samples_) std::filesystem::remove(path_ / name, ignored);
  }

  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
  std::int64_t samples_ = 0;
  std::size_t saves_ = 0;
  std::optional<detail::GrowingFile> names_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_images_writer(const WriterOptions& options) {
  return std::make_unique<ImagesWriter>(options);
}

}  // namespace ronde::data::files
