#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "ronde/base/testing/folder.h"

namespace ronde::topology::detail {

// For tests: a folder that stands for / and holds the given files; removed at the end.
class FakeFiles {
 public:
  struct File {
    std::string path;
    std::string text;
  };
  FakeFiles(std::initializer_list<File> files) {
    for (const auto& [file, text] : files) {
      std::filesystem::create_directories((root() / file).parent_path());
      std::ofstream(root() / file) << text;
    }
  }
  const std::filesystem::path& root() const { return folder_.path(); }

 private:
  const ronde::tests::Folder folder_;
};

}  // namespace ronde::topology::detail
