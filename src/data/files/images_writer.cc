#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/file_descriptor.h"
#include "ronde/data/detail/file_io.h"
#include "ronde/data/files/tar.h"
#include "ronde/data/files/typed.h"
#include "ronde/data/files/uniform.h"
#include "ronde/data/files/writers.h"

namespace ronde::data::files {
namespace {

// A file of its own for each encoded picture, in the folder of its class.
class ImagesWriter : public RecordWriter {
 public:
  explicit ImagesWriter(const WriterOptions& options) : path_(options.path), classes_(options.classes) {
    std::filesystem::create_directory(path_);
  }

  void add(const Sample& sample, std::string_view key) override {
    const Array* image = sample.find("image");
    const std::string ending = image && is_bytes(*image) ? picture_ending(image->text()) : "bin";
    if (ending == "bin")
      throw Error::bad_input("sample '{}' has no encoded picture (JPEG, PNG, TIFF) that could become a file", key);
    const std::filesystem::path folder = path_ / class_folder(sample, key);
    std::filesystem::create_directory(folder);
    const std::string path = (folder / (file_stem(key) + "." + ending)).string();
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file && errno == EEXIST) throw Error::bad_input("two samples of a class are called '{}'", key);
    if (!file) throw Error::system(errno, "cannot write {}", path);
    detail::write_all(file, image->text(), path);
  }

  void finish() override {
    const FileDescriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::syncfs(folder.get()) != 0) throw Error::system(errno, "cannot write {}", path_.string());
  }

 private:
  std::string class_folder(const Sample& sample, std::string_view key) const {
    const Array* label = sample.find("class");
    if (!label) throw Error::bad_input("sample '{}' has no class, and a folder holds the pictures of one", key);
    const std::int64_t number = whole_number(*label, fmt::format("sample '{}': its class", key));
    if (number < 0 || (!classes_.empty() && static_cast<std::size_t>(number) >= classes_.size()))
      throw Error::bad_input("sample '{}': its class is {}, but there are {}", key, number, classes_.size());
    // Folders are counted in the order of their names: numbers need their zeros.
    const std::string name =
        classes_.empty() ? fmt::format("{:06}", number) : classes_[static_cast<std::size_t>(number)];
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      throw Error::bad_input("'{}' is a class, but no name that a folder could have", name);
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
    if (stem.empty() || stem.starts_with('.')) throw Error::bad_input("'{}' is no name that a file could have", key);
    return stem;
  }

  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_images_writer(const WriterOptions& options) {
  return std::make_unique<ImagesWriter>(options);
}

}  // namespace ronde::data::files
