#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "ronde/base/error.h"

namespace ronde::bench::detail {

// A folder of its own, which goes with the benchmark, whatever happens to it short of a kill.
class ScratchFolder {
 public:
  // FAILS WITH: System.
  explicit ScratchFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "ronde-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error::system(errno, "cannot create a folder like {}", name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ronde::bench::detail
