#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace ronde::topology::detail {

// For tests: a folder that stands for / and holds the given files; removed at the end.
class FakeFiles {
 public:
  struct File {
    std::string path;
    std::string text;
  };
  FakeFiles(std::initializer_list<File> files) {
    std::string name = (std::filesystem::temp_directory_path() / "ronde_topology_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder for the test's files");
    root_ = name;
    for (const auto& [file, text] : files) {
      std::filesystem::create_directories((root_ / file).parent_path());
      std::ofstream(root_ / file) << text;
    }
  }
  ~FakeFiles() { std::filesystem::remove_all(root_); }
  FakeFiles(const FakeFiles&) = delete;
  FakeFiles& operator=(const FakeFiles&) = delete;

  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace ronde::topology::detail
