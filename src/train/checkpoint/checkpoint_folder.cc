#include "ronde/train/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/base/text/text.h"
#include "ronde/models/safetensors.h"
#include "ronde/train/checkpoint/checkpoint_checksum.h"

namespace ronde::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kPartialSuffix = ".partial";

fs::path partial_of(const fs::path& checkpoint) {
  return checkpoint.parent_path() / fmt::format(".{}{}", checkpoint.filename().string(), kPartialSuffix);
}

bool is_partial(const std::string& name) {
  return name.starts_with(fmt::format(".{}", kPrefix)) && name.ends_with(kPartialSuffix);
}

// A file that is being written, and its checksum.
class Output {
 public:
  explicit Output(const fs::path& file)
      : name_(file.string()), file_(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (!file_) throw Error::system(errno, "cannot write {}", name_);
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), kPiece));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw Error::system(errno, "cannot write {}", name_);
      checksum_.add(bytes.first(static_cast<std::size_t>(written)));
      bytes_ += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void sync() {
    if (fsync(file_.get()) != 0) throw Error::system(errno, "cannot write {}", name_);
  }
  std::uint64_t bytes() const { return bytes_; }
  std::string checksum() const { return checksum_.text(); }

 private:
  static constexpr std::size_t kPiece = 1 << 20;  // still in the cache when the checksum looks at it

  const std::string name_;
  FileDescriptor file_;
  Checksum checksum_;
  std::uint64_t bytes_ = 0;
};

// Names in a folder are safe only when the folder is.
void sync_folder(const fs::path& folder) {
  const FileDescriptor handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle || fsync(handle.get()) != 0) throw Error::system(errno, "cannot write {}", folder.string());
}

void rename_to(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw Error::system(errno, "cannot rename {} to {}", from.string(), to.string());
}

// In one step where the file system can: there is then no moment without a checkpoint of this name.
void exchange(const fs::path& fresh, const fs::path& old) {
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) return;
  const fs::path aside = fmt::format("{}{}", fresh.string(), kPartialSuffix);
  rename_to(old, aside);
  rename_to(fresh, old);
  rename_to(aside, fresh);
}

void remove_tree(const fs::path& path) {
  std::error_code failure;
  fs::remove_all(path, failure);
  if (failure) throw Error::system(failure.value(), "cannot remove {}", path.string());
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    paths.push_back(at->path());
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw Error::system(failure.value(), "cannot read the folder {}", folder.string());
  return paths;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return {};
  const auto step = parse_number<std::int64_t>(std::string_view(name).substr(kPrefix.size()));
  return step && *step >= 0 ? step : std::nullopt;
}

std::vector<fs::path> list_checkpoints(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (const fs::path& path : entries(folder))
    if (const auto step = step_of(path.filename().string())) found.emplace_back(*step, path);
  std::ranges::sort(found, std::ranges::greater(), [](const auto& item) { return item.first; });
  std::vector<fs::path> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

CheckpointFolder::CheckpointFolder(fs::path folder, std::int64_t step)
    : folder_(std::move(folder)), final_(folder_ / checkpoint_name(step)), partial_(partial_of(final_)) {}

void CheckpointFolder::prepare() const {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) throw Error::system(failure.value(), "cannot make the folder {}", folder_.string());
  for (const fs::path& path : entries(folder_))
    if (is_partial(path.filename().string())) remove_tree(path);
  if (mkdir(partial_.c_str(), 0777) != 0) throw Error::system(errno, "cannot make the folder {}", partial_.string());
}

FileRecord CheckpointFolder::write_tensors(const std::string& name, const std::string& holds,
                                           const TensorMap& tensors) const {
  Output output(partial_ / name);
  models::write_safetensors({.tensors = tensors, .metadata = {{"format", "pt"}}},
                            [&](std::span<const std::byte> bytes) { output.write(bytes); });
  output.sync();
  return {.name = name, .holds = holds, .bytes = output.bytes(), .checksum = output.checksum()};
}

void CheckpointFolder::write_text(const std::string& name, const std::string& text) const {
  Output output(partial_ / name);
  output.write(std::as_bytes(std::span(text)));
  output.sync();
}

fs::path CheckpointFolder::publish() const {
  sync_folder(partial_);
  std::error_code failure;
  if (fs::exists(final_, failure)) {
    exchange(partial_, final_);
    sync_folder(folder_);
    remove_tree(partial_);  // now the old one
  } else {
    rename_to(partial_, final_);
    sync_folder(folder_);
  }
  return final_;
}

void CheckpointFolder::remove_older(int keep) const {
  int kept = 1;
  for (const fs::path& path : list_checkpoints(folder_)) {
    if (path.filename() == final_.filename() || ++kept <= keep) continue;
    // Out of sight first: a program that is killed half way leaves nothing that looks like a checkpoint.
    rename_to(path, partial_of(path));
    remove_tree(partial_of(path));
  }
}

void CheckpointFolder::discard() const noexcept {
  std::error_code ignored;  // there is an error already, and the next prepare() tries again
  fs::remove_all(partial_, ignored);
}

}  // namespace ronde::train
