#include "ronde/launch/stage/stage_item.h"

#include <sys/file.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/launch/stage/copy_tree.h"
#include "ronde/launch/stage/unpack.h"

namespace ronde::launch::detail {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kLookers = 8;

fs::path beside(const fs::path& place, const char* what) {
  return place.parent_path() / fmt::format(".{}.{}", place.filename().string(), what);
}

// Held by whoever brings something to this place. Given back when the process ends, however that is.
class FileLock {
 public:
  FileLock(const fs::path& file, const Progress& progress)
      : file_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_) throw Error::system(errno, "cannot write {}", file.string());
    // A file system that knows no locks leaves it to the user not to stage the same twice at once.
    while (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && !progress.stop)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

 private:
  FileDescriptor file_;
};

struct Stopped {};  // thrown, so that what has come so far is removed on the way out

void throw_if_stopped(const Progress& progress) {
  if (progress.stop) throw Stopped();
}

void remove_tree(const fs::path& path) {
  std::error_code failure;
  fs::remove_all(path, failure);
  if (failure) throw Error::system(failure.value(), "cannot remove {}", path.string());
}

// What is at the place, if it is ours to replace: all of it must have been staged.
void remove_older(const StageItem& item, const Progress& progress) {
  const fs::path& place = item.place.path;
  if (!fs::exists(fs::symlink_status(place))) return;
  const auto manifest = read_manifest(place);
  if (!manifest)
    throw Error::bad_input("{} already exists and was not staged: remove it, or stage to another place",
                           place.string());
  const auto foreign = foreign_to(*manifest, list_tree(place, kLookers, progress.stop));
  throw_if_stopped(progress);  // or the list would not be whole
  if (!foreign.empty())
    throw Error::bad_input(
        "{} must be staged again, but contains files that were not staged, such as {}: move them away first",
        place.string(), foreign.front());
  remove_tree(place);
}

void fill(const StageItem& item, const fs::path& partial, const Environment& environment, int threads,
          const Signals& signals, Progress& progress) {
  progress.total += total_bytes(item.listing);
  const bool is_file = item.listing.size() == 1 && item.listing.front().path.empty();
  std::error_code failure;
  if (item.unpacker || !is_file) fs::create_directory(partial, failure);
  if (failure) throw Error::system(failure.value(), "cannot make {}", partial.string());
  if (item.unpacker)
    unpack(*item.unpacker, item.source, partial, environment, signals, progress);
  else
    copy_tree(item.listing, item.source, partial, threads, progress);
}

// All or nothing: the place is empty until what comes there is complete.
Entries replace(const StageItem& item, const Environment& environment, int threads, const Signals& signals,
                Progress& progress) {
  const fs::path &place = item.place.path, partial = beside(place, "partial"), manifest = beside(place, "manifest");
  remove_tree(partial);  // of one who was killed
  remove_older(item, progress);
  Entries here;
  try {
    fill(item, partial, environment, threads, signals, progress);
    throw_if_stopped(progress);
    here = list_tree(partial, kLookers, progress.stop);
    throw_if_stopped(progress);
    std::ofstream file(manifest, std::ios::binary);
    file << Manifest{item.source.string(), fingerprint(item.listing), here}.encode();
    file.close();
    if (!file) throw Error::system(errno, "cannot write {}", manifest.string());
    fs::rename(partial, place);
  } catch (...) {
    std::error_code ignored;  // the first failure is what counts
    fs::remove_all(partial, ignored);
    fs::remove(manifest, ignored);
    throw;
  }
  return here;
}

std::string summary(const Entries& entries) {
  return fmt::format("{} in {}", format_bytes(total_bytes(entries)), counted(count_files(entries), "file"));
}

}  // namespace

std::uint64_t StageItem::bytes_needed() const {
  return unpacker ? least_unpacked_bytes(source) : bytes_on_disk(listing);
}

std::optional<Manifest> read_manifest(const fs::path& place) {
  std::ifstream file(beside(place, "manifest"), std::ios::binary);
  return Manifest::decode(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool is_up_to_date(const StageItem& item, const std::atomic<bool>& stop) {
  const auto manifest = read_manifest(item.place.path);
  return manifest && manifest->source == item.source.string() && manifest->source_print == fingerprint(item.listing) &&
         fs::exists(item.place.path) && holds(list_tree(item.place.path, kLookers, stop), *manifest);
}

std::string bring(const StageItem& item, const Environment& environment, int threads, const Signals& signals,
                  Progress& progress) try {
  const auto begun = Clock::now();
  const std::string place = item.place.path.string();
  const FileLock lock(beside(item.place.path, "lock"), progress);
  throw_if_stopped(progress);
  if (is_up_to_date(item, progress.stop))
    return fmt::format("{} is already staged: {}; ranks find it as ${}", item.place.name, place, item.variable);
  throw_if_stopped(progress);
  const Entries here = replace(item, environment, threads, signals, progress);
  return fmt::format("{} is staged: {}, {}, took {}; ranks find it as ${}", item.place.name, place, summary(here),
                     format_duration(Clock::now() - begun), item.variable);
} catch (const Stopped&) {
  return {};
}

}  // namespace ronde::launch::detail
