#include <array>
#include <fstream>

#include "ronde/data/formats/hdf5/hdf5.h"

namespace ronde::data::files {

bool looks_like_hdf5(const std::filesystem::path& path) {
  for (const char* ending : {".h5", ".hdf5", ".hdf", ".he5"})
    if (path.extension() == ending) return true;
  std::array<char, 8> begin{};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == "\x89HDF\r\n\x1a\n";
}

}  // namespace ronde::data::files
