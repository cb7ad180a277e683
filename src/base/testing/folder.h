#pragma once

#include <cerrno>
#include <filesystem>
#include <string>

#include <stdlib.h>

#include "ronde/base/error.h"

namespace ronde::tests {

// A folder for a test's files, which goes with it.
class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "ronde_test_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw Error::system(errno, "cannot make {}", pattern);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace ronde::tests
