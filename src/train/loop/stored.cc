#include "ronde/train/loop/stored.h"

#include <system_error>

namespace ronde::train {

double stored_bytes(const std::filesystem::path& path, std::int64_t samples, std::size_t most_files) {
  namespace fs = std::filesystem;
  std::error_code failure;
  if (path.empty() || samples < 1) return 0;
  const auto each = static_cast<double>(samples);
  if (fs::is_regular_file(path, failure)) return static_cast<double>(fs::file_size(path, failure)) / each;
  double bytes = 0;
  std::size_t files = 0;
  // What cannot be looked at is left out: an estimate is no reason to fail.
  for (fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failure), end;
       !failure && at != end; at.increment(failure)) {
    std::error_code unreadable;
    if (!at->is_regular_file(unreadable)) continue;
    if (files == most_files) return bytes / static_cast<double>(files);
    const auto size = at->file_size(unreadable);
    if (unreadable) continue;
    bytes += static_cast<double>(size);
    ++files;
  }
  return bytes / each;
}

}  // namespace ronde::train
