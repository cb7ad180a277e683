#include "ronde/launch/stage/copy_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/base/system/mutex.h"

namespace ronde::launch::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPiece = 64 << 20;  // of a large file, so that several threads can work on it
constexpr std::size_t kBuffer = 1 << 20;

struct Piece {
  const Entry* entry;
  std::uint64_t begin, end;
};

fs::path below(const fs::path& root, const Entry& entry) {
  return entry.path.empty() ? root : root / entry.path;
}

std::vector<Piece> cut(const Entries& entries) {
  std::vector<Piece> pieces;
  for (const Entry& entry : entries) {
    if (entry.kind != Entry::Kind::File) continue;
    std::uint64_t begin = 0;
    do {
      const std::uint64_t end = std::min(entry.bytes, begin + kPiece);
      pieces.push_back({&entry, begin, end});
      begin = end;
    } while (begin < entry.bytes);
  }
  return pieces;
}

void set_time(const fs::path& file, const Entry& entry) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = entry.changed / kSecond, .tv_nsec = entry.changed % kSecond}};
  if (utimensat(AT_FDCWD, file.c_str(), times, 0) != 0)
    throw Error::system(errno, "cannot set the time of {}", file.string());
}

void write_all(int file, const char* bytes, std::size_t count, std::uint64_t at, const fs::path& name) {
  while (count > 0) {
    const ssize_t written = pwrite(file, bytes, count, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error::system(errno, "cannot write {}", name.string());
    bytes += written;
    at += static_cast<std::uint64_t>(written);
    count -= static_cast<std::size_t>(written);
  }
}

void copy_piece(const Piece& piece, const fs::path& from, const fs::path& to, Progress& progress,
                std::vector<char>& buffer) {
  const fs::path source = below(from, *piece.entry), target = below(to, *piece.entry);
  const FileDescriptor in(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) throw Error::system(errno, "cannot read {}", source.string());
  // An old file that is longer is cut when its first piece comes; pieces never write beyond the new length.
  const FileDescriptor out(open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, piece.entry->mode | S_IWUSR));
  if (!out) throw Error::system(errno, "cannot write {}", target.string());
  if (piece.begin == 0 && ftruncate(out.get(), static_cast<off_t>(piece.entry->bytes)) != 0)
    throw Error::system(errno, "cannot write {}", target.string());
  for (std::uint64_t at = piece.begin; at < piece.end && !progress.stop;) {
    const ssize_t got =
        pread(in.get(), buffer.data(), std::min<std::uint64_t>(buffer.size(), piece.end - at), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::system(errno, "cannot read {}", source.string());
    if (got == 0)
      throw Error(Error::Kind::System, fmt::format("{} became shorter while it was copied", source.string()));
    write_all(out.get(), buffer.data(), static_cast<std::size_t>(got), at, target);
    at += static_cast<std::uint64_t>(got);
    progress.done += static_cast<std::uint64_t>(got);
  }
}

void make_folders_and_links(const Entries& entries, const fs::path& from, const fs::path& to) {
  std::error_code failure;
  for (const Entry& entry : entries) {
    const fs::path target = below(to, entry);
    if (entry.kind == Entry::Kind::Folder) {
      fs::create_directories(target, failure);
    } else if (entry.kind == Entry::Kind::Link) {
      fs::remove(target, failure);
      fs::copy_symlink(below(from, entry), target, failure);
    }
    if (failure) throw Error::system(failure.value(), "cannot make {}", target.string());
  }
}

}  // namespace

void copy_tree(const Entries& entries, const fs::path& from, const fs::path& to, int threads, Progress& progress) {
  make_folders_and_links(entries, from, to);
  const std::vector<Piece> pieces = cut(entries);
  std::atomic<std::size_t> next{0};
  struct {
    Mutex mutex;
    std::exception_ptr first RONDE_GUARDED_BY(mutex);
  } failure;
  std::atomic<bool> failed{false};
  const auto work = [&] {
    std::vector<char> buffer(kBuffer);
    try {
      for (std::size_t i = next++; i < pieces.size() && !failed && !progress.stop; i = next++)
        copy_piece(pieces[i], from, to, progress, buffer);
    } catch (...) {
      const Lock lock(failure.mutex);
      if (!failure.first) failure.first = std::current_exception();
      failed = true;
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < std::min<int>(threads, static_cast<int>(pieces.size())); ++i) workers.emplace_back(work);
  }
  {
    const Lock lock(failure.mutex);
    if (failure.first) std::rethrow_exception(failure.first);
  }
  if (progress.stop) return;
  for (const Entry& entry : entries)  // last, for writing changes it
    if (entry.kind == Entry::Kind::File) set_time(below(to, entry), entry);
}

}  // namespace ronde::launch::detail
