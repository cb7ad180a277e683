// The files of a cache: `index`, which all processes map, and `data-N`, one a process that has put something in.
//
// index: Head, then one Entry a sample. An entry is free, claimed by who is about to write, or says where the sample
// lies; it is published last, so who finds a place finds the whole sample there.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/pipeline/memory/sample_bytes.h"
#include "ronde/data/pipeline/memory/sample_cache.h"

namespace ronde::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMagic = 0x31656863'61436452u;  // "RdCache1"
constexpr std::uint64_t kFree = 0, kClaimed = 1;
constexpr int kFileShift = 48;  // of a place: file number above, offset + 2 below

struct Head {
  std::uint64_t magic;
  std::uint64_t samples;
  std::uint32_t identity;  // a checksum of what the samples are
  std::atomic<std::uint32_t> files;
  std::atomic<std::uint64_t> bytes;
};
struct Entry {
  std::atomic<std::uint64_t> place;
  std::uint32_t length;
  std::uint32_t checksum;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(Entry) == 16 && sizeof(Head) == 32);

// Memory that stays mapped for as long as anybody holds it.
class Mapping {
 public:
  Mapping(int file, std::size_t bytes, int protection, const std::string& name) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
    if (memory_ == MAP_FAILED) throw Error::system(errno, "cannot map {}", name);
  }
  ~Mapping() { ::munmap(memory_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void* memory() const { return memory_; }

 private:
  void* memory_;
  const std::size_t bytes_;
};

FileDescriptor open_file(const fs::path& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!file) throw Error::system(errno, "cannot open the cache {}", path.string());
  return file;
}

class FolderCache : public SampleCache {
 public:
  explicit FolderCache(const FolderCacheOptions& options) : options_(options) {
    while (!enter()) {
    }
    map_ = std::make_unique<Mapping>(index_.get(), index_bytes(), PROT_READ | PROT_WRITE, index_path().string());
  }

  // Who can have it alone is the last.
  ~FolderCache() override {
    if (!options_.for_now || ::flock(index_.get(), LOCK_EX | LOCK_NB) != 0) return;
    std::error_code ignored;
    fs::remove_all(options_.folder, ignored);
  }

  std::optional<Sample> find(std::int64_t index) const override {
    const Entry& entry = entries()[index];
    const std::uint64_t place = entry.place.load(std::memory_order_acquire);
    if (place == kFree || place == kClaimed) return {};
    auto memory = std::make_shared<std::string>(entry.length, '\0');
    const int file = reader(place >> kFileShift);
    const auto offset = static_cast<off_t>((place & ((std::uint64_t{1} << kFileShift) - 1)) - 2);
    if (file < 0 || ::pread(file, memory->data(), memory->size(), offset) != static_cast<ssize_t>(memory->size()))
      return {};
    // A node that lost power leaves an index that is ahead of the data.
    if (crc32c(*memory) != entry.checksum) return {};
    return from_bytes(*memory, memory);
  }

  void put(std::int64_t index, const Sample& sample) override {
    Entry& entry = entries()[index];
    std::uint64_t expected = kFree;
    if (entry.place.load(std::memory_order_relaxed) != kFree) return;
    const std::string bytes = to_bytes(sample);
    if (head().bytes.fetch_add(bytes.size()) + bytes.size() > options_.most_bytes) {
      head().bytes.fetch_sub(bytes.size());
      return;
    }
    if (!entry.place.compare_exchange_strong(expected, kClaimed)) {
      head().bytes.fetch_sub(bytes.size());  // another was first
      return;
    }
    const auto place = write(bytes);
    if (!place) return;  // a full disk: the sample is not kept, and that is all
    entry.length = static_cast<std::uint32_t>(bytes.size());
    entry.checksum = crc32c(bytes);
    entry.place.store(*place, std::memory_order_release);
  }

  std::size_t bytes() const override { return head().bytes.load(); }

 private:
  fs::path index_path() const { return options_.folder / "index"; }
  std::size_t index_bytes() const { return sizeof(Head) + static_cast<std::size_t>(options_.samples) * sizeof(Entry); }

  // All who use it hold a shared lock, so who gets one of its own is alone, and lays it out if need be. False: the last
  // one before us has just removed it.
  bool enter() {
    std::error_code failure;
    fs::create_directories(options_.folder, failure);
    if (failure) throw Error::system(failure.value(), "cannot create the cache folder {}", options_.folder.string());
    index_ = open_file(index_path(), O_RDWR | O_CREAT);
    const bool alone = ::flock(index_.get(), LOCK_EX | LOCK_NB) == 0;
    if (!alone) ::flock(index_.get(), LOCK_SH);
    struct stat facts {};
    ::fstat(index_.get(), &facts);
    if (facts.st_nlink == 0) return false;
    if (alone && (options_.for_now || facts.st_size == 0)) {
      lay_out();
    } else if (facts.st_size == 0) {
      return false;  // who was to lay it out died before
    } else {
      check(static_cast<std::size_t>(facts.st_size));
    }
    ::flock(index_.get(), LOCK_SH);  // for as long as it is in use
    return true;
  }

  Head expected_head() const {
    return {kMagic, static_cast<std::uint64_t>(options_.samples), crc32c(options_.identity), 0, 0};
  }

  void lay_out() {
    const Head head = expected_head();
    // All of it is allocated now: a page that finds no room later would be a signal, not an error.
    if (::ftruncate(index_.get(), 0) != 0)
      throw Error::system(errno, "cannot write the cache {}", index_path().string());
    if (const int failure = ::posix_fallocate(index_.get(), 0, static_cast<off_t>(index_bytes())); failure != 0)
      throw Error::system(failure, "cannot write the cache {}", index_path().string());
    if (::pwrite(index_.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head))
      throw Error::system(errno, "cannot write the cache {}", index_path().string());
  }

  void check(std::size_t bytes) const {
    constexpr std::size_t kFixed = offsetof(Head, files);
    const Head expected = expected_head();
    std::array<char, kFixed> found{};
    if (bytes != index_bytes() || ::pread(index_.get(), found.data(), kFixed, 0) != static_cast<ssize_t>(kFixed) ||
        std::memcmp(found.data(), &expected, kFixed) != 0)
      throw Error::bad_input("{} is a cache of other samples, or damaged: remove it, or choose another folder",
                             options_.folder.string());
  }

  Head& head() const { return *static_cast<Head*>(map_->memory()); }
  Entry* entries() const { return reinterpret_cast<Entry*>(static_cast<std::byte*>(map_->memory()) + sizeof(Head)); }

  std::optional<std::uint64_t> write(const std::string& bytes) {
    const Lock lock(mutex_);
    if (!data_) {
      number_ = head().files.fetch_add(1);
      if (number_ >= (1u << 15)) return {};
      data_ = open_file(path_of(number_), O_RDWR | O_CREAT | O_TRUNC);
    }
    if (::pwrite(data_.get(), bytes.data(), bytes.size(), end_) != static_cast<ssize_t>(bytes.size())) return {};
    const auto place = (std::uint64_t{number_} << kFileShift) | (static_cast<std::uint64_t>(end_) + 2);
    end_ += static_cast<off_t>(bytes.size());
    return place;
  }

  int reader(std::uint64_t number) const {
    const Lock lock(mutex_);
    auto& file = readers_[number];
    if (!file) file = FileDescriptor(::open(path_of(number).c_str(), O_RDONLY | O_CLOEXEC));
    return file ? file.get() : -1;
  }

  fs::path path_of(std::uint64_t number) const { return options_.folder / fmt::format("data-{}", number); }

  const FolderCacheOptions options_;
  FileDescriptor index_;
  std::unique_ptr<Mapping> map_;
  mutable Mutex mutex_;
  mutable std::map<std::uint64_t, FileDescriptor> readers_ RONDE_GUARDED_BY(mutex_);
  FileDescriptor data_ RONDE_GUARDED_BY(mutex_);
  std::uint64_t number_ RONDE_GUARDED_BY(mutex_) = 0;
  off_t end_ RONDE_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<SampleCache> make_folder_cache(const FolderCacheOptions& options) {
  return std::make_unique<FolderCache>(options);
}

}  // namespace ronde::data
