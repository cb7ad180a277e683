#include "ronde/launch/stage/tree_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"

namespace ronde::launch::detail {
namespace {

namespace fs = std::filesystem;

Entry look_at(const fs::path& file, std::string path, bool follow) {
  struct stat status {};
  if ((follow ? stat(file.c_str(), &status) : lstat(file.c_str(), &status)) != 0)
    throw Error::system(errno, "cannot read {}", file.string());
  Entry entry{.path = std::move(path), .kind = Entry::Kind::File, .bytes = 0, .changed = 0, .mode = 0};
  entry.mode = status.st_mode & 07777;
  if (S_ISDIR(status.st_mode)) {
    entry.kind = Entry::Kind::Folder;
  } else if (S_ISLNK(status.st_mode)) {
    entry.kind = Entry::Kind::Link;
  } else if (S_ISREG(status.st_mode)) {
    entry.bytes = static_cast<std::uint64_t>(status.st_size);
    entry.changed = status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
  } else {
    throw Error::bad_input("{} is neither a file nor a folder", file.string());
  }
  return entry;
}

// Folders that wait to be looked into, shared by all who look.
class Walk {
 public:
  Walk(fs::path root, const std::atomic<bool>& stop) : root_(std::move(root)), stop_(stop) {}

  Entries all(int threads) {
    {
      const Lock lock(mutex_);
      folders_.emplace_back("");
    }
    {
      std::vector<std::jthread> lookers;
      for (int i = 0; i < threads; ++i) lookers.emplace_back([this] { look(); });
    }
    const Lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    std::ranges::sort(found_, {}, &Entry::path);
    return std::move(found_);
  }

 private:
  void look() {
    Lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this]() RONDE_REQUIRES(mutex_) { return !folders_.empty() || busy_ == 0; });
      if (folders_.empty() || failure_ || stop_) break;
      const std::string folder = std::move(folders_.back());
      folders_.pop_back();
      ++busy_;
      lock.unlock();
      Entries entries;
      std::exception_ptr failure;
      try {
        entries = look_into(folder);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      --busy_;
      if (failure && !failure_) failure_ = failure;
      for (Entry& entry : entries) {
        if (entry.kind == Entry::Kind::Folder) folders_.push_back(entry.path);
        found_.push_back(std::move(entry));
      }
      changed_.notify_all();
    }
    folders_.clear();
    changed_.notify_all();
  }

  Entries look_into(const std::string& folder) const {
    Entries entries;
    std::error_code failure;
    for (fs::directory_iterator next(root_ / folder, failure), end; !failure && next != end; next.increment(failure))
      entries.push_back(look_at(next->path(), (fs::path(folder) / next->path().filename()).string(), false));
    if (failure) throw Error::system(failure.value(), "cannot read {}", (root_ / folder).string());
    return entries;
  }

  fs::path root_;
  const std::atomic<bool>& stop_;
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> folders_ RONDE_GUARDED_BY(mutex_);
  int busy_ RONDE_GUARDED_BY(mutex_) = 0;  // that look into one
  Entries found_ RONDE_GUARDED_BY(mutex_);
  std::exception_ptr failure_ RONDE_GUARDED_BY(mutex_);
};

void add_to(std::uint64_t& hash, std::string_view bytes) {  // FNV-1a
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
}

}  // namespace

Entries list_tree(const fs::path& root, int threads, const std::atomic<bool>& stop) {
  Entry self = look_at(root, "", true);
  if (self.kind != Entry::Kind::Folder) return {self};
  return Walk(root, stop).all(threads);
}

std::uint64_t total_bytes(const Entries& entries) {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  return bytes;
}

std::size_t count_files(const Entries& entries) {
  return static_cast<std::size_t>(std::ranges::count(entries, Entry::Kind::File, &Entry::kind));
}

std::uint64_t bytes_on_disk(const Entries& entries) {
  constexpr std::uint64_t kBlock = 4096;
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += (entry.bytes + kBlock - 1) / kBlock * kBlock;
  return bytes;
}

std::uint64_t fingerprint(const Entries& entries) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const Entry& entry : entries)
    add_to(hash, fmt::format("{}{} {} {}\n", static_cast<char>(entry.kind), entry.path, entry.bytes, entry.changed));
  return hash;
}

}  // namespace ronde::launch::detail
