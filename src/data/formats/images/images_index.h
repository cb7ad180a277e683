#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/formats/index_file.h"
#include "ronde/data/records.h"

namespace ronde::data::files {

// A folder below that of a data set, and when it was last changed: when all of them are as they were, so are the files.
struct ScannedFolder {
  std::string path;  // from the data set's folder: "dog", "dog/puppies"
  std::int64_t changed_ns = 0;
};

// What a scan of a folder finds: a class a folder, sorted by name, its pictures sorted by path.
struct ImageScan {
  struct File {
    std::string path;  // from the folder of its class: "12.jpg", "puppies/3.png"
    std::uint64_t bytes = 0;
  };
  struct Class {
    std::string name;
    std::vector<File> files;
    std::vector<ScannedFolder> folders;
    std::int64_t others = 0;  // files that are no pictures, by their name
  };
  std::vector<Class> classes;
  std::int64_t began_ns = 0;  // by the clock, since 1970
};

// Looks through all class folders, several at a time; what begins with a dot is passed by.
// FAILS WITH: BadInput that names the folder: no class folders, one without pictures, one that may not be read; System.
ImageScan scan_images(const std::filesystem::path& folder, const Progress& progress);

// The scan as an index file, and back.
std::string to_index(const ImageScan& scan);

// The index of an image folder, where it lies. A plain value that points into the bytes.
class ImageIndex {
 public:
  // FAILS WITH: BadInput: damaged.
  ImageIndex(std::string_view bytes, const std::string& name);

  std::int64_t size() const { return static_cast<std::int64_t>(view_.length(kSizes)); }
  std::vector<std::string> classes() const;
  std::int64_t class_of(std::int64_t index) const;
  std::string path_of(std::int64_t index) const;  // "dog/12.jpg"
  std::uint64_t bytes_of(std::int64_t index) const { return view_.number(kSizes, static_cast<std::size_t>(index)); }
  std::int64_t others() const;  // files that are no pictures

  // Whether the folders are as they were: their names and times are looked at, no file is.
  bool is_fresh(const std::filesystem::path& folder) const;

 private:
  enum : std::size_t { kSizes, kClassEnds, kFolderTimes, kFacts, kColumns };

  IndexView view_;
};

bool is_picture_name(std::string_view name);  // by its ending: jpg, jpeg, png, tif, tiff, in any case

}  // namespace ronde::data::files
