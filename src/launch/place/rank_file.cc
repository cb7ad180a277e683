#include "ronde/launch/place/rank_file.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "ronde/base/error.h"

namespace ronde::launch::detail {

RankFile::RankFile(std::filesystem::path path, bool append)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666)) {
  if (!file_) throw Error::system(errno, "cannot write the output of a rank to {}", path_.string());
}

std::optional<std::string> RankFile::write(std::string_view stamp, std::string_view line) {
  if (!file_) return {};
  std::string text(stamp);
  text += line;
  text += '\n';
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = ::write(file_.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int number = errno;
      file_.close();
      return fmt::format("cannot write {}, the rest of that output is not kept: {}", path_.string(),
                         std::generic_category().message(number));
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    throw Error::bad_input("cannot make the folder {} for the output of ranks: {}", folder.string(), failure.message());
}

}  // namespace ronde::launch::detail
