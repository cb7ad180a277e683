#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::launch::detail {

// Where one stream of one rank is kept, line by line, so that it can be followed while the job runs. Made by default it
// keeps nothing.
class RankFile {
 public:
  RankFile() = default;
  // FAILS WITH: System.
  RankFile(std::filesystem::path path, bool append);

  // Returns a sentence, once, when the line could not be written; nothing is written after that. A job is not ended
  // because there is no room for what it says.
  std::optional<std::string> write(std::string_view stamp, std::string_view line);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
};

// The folder for such files; empty: none.
// FAILS WITH: BadInput.
void make_folder(const std::filesystem::path& folder);

}  // namespace ronde::launch::detail
