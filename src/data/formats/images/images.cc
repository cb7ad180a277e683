#include "ronde/data/formats/images/images.h"

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/uio.h>

#include "ronde/base/error.h"
#include "ronde/data/formats/images/images_index.h"
#include "ronde/data/formats/images/images_scan.h"
#include "ronde/data/io/file_bytes.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyRoom = 256;  // for class and key, and what memory costs besides

std::string_view text_of(const detail::FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// The bytes that an index was parsed from, and what it says.
struct LoadedIndex {
  std::optional<detail::FileBytes> file;
  std::string made;
  std::optional<ImageIndex> index;
};

std::unique_ptr<LoadedIndex> load_index(const RecordsOptions& options) {
  const IndexHome home(options.path, options.path / ".ronde-index", options.cache);
  for (detail::FileBytes& file : home.load()) try {
      auto loaded = std::make_unique<LoadedIndex>();
      loaded->file.emplace(std::move(file));
      loaded->index.emplace(text_of(*loaded->file), loaded->file->name());
      if (loaded->index->is_fresh(options.path)) return loaded;
    } catch (const Error&) {  // damaged: made anew
    }
  auto loaded = std::make_unique<LoadedIndex>();
  loaded->made = to_index(scan_images(options.path, options.progress));
  loaded->index.emplace(loaded->made, "just made");
  home.save(loaded->made);
  return loaded;
}

class Images : public Records {
 public:
  explicit Images(const RecordsOptions& options) : folder_(options.path), loaded_(load_index(options)) {}

  std::string name() const override { return folder_.string(); }
  std::int64_t size() const override { return index().size(); }
  std::size_t bytes(std::int64_t at) const override { return index().bytes_of(at) + kKeyRoom; }
  std::string where(std::int64_t at) const override { return (folder_ / index().path_of(at)).string(); }
  std::string key(std::int64_t at) const override { return index().path_of(at); }
  std::vector<std::string> classes() const override { return index().classes(); }

  Sample read(std::int64_t at) const override {
    const std::string key = index().path_of(at), path = (folder_ / key).string();
    const auto size = static_cast<std::size_t>(index().bytes_of(at));
    Array picture(Type::U8, {static_cast<std::int64_t>(size)});
    read_whole(detail::open_to_read(path), picture.writable(), size, path);
    Sample sample;
    sample.set("image", std::move(picture));
    sample.set("class", Array::scalar<std::int64_t>(index().class_of(at)));
    sample.set("key", Array::bytes_of(key));
    return sample;
  }

 private:
  // One byte more is asked for than there should be: a file that grew shows without another question to the kernel.
  static void read_whole(const FileDescriptor& file, void* into, std::size_t size, const std::string& path) {
    std::size_t done = 0;
    char beyond = 0;
    while (done <= size) {
      std::array<iovec, 2> parts{{{static_cast<char*>(into) + done, size - done}, {&beyond, 1}}};
      const ssize_t some = ::preadv(file.get(), parts.data(), 2, static_cast<off_t>(done));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) throw Error::system(errno, "cannot read {} at byte {}", path, done);
      if (some == 0) break;
      done += static_cast<std::size_t>(some);
    }
    if (done != size)
      throw Error::bad_input("{} had {} bytes when it was indexed and has {} now", path, size,
                             done > size ? "more" : std::to_string(done));
  }

  const ImageIndex& index() const { return *loaded_->index; }

  const fs::path folder_;
  const std::unique_ptr<LoadedIndex> loaded_;
};

}  // namespace

std::unique_ptr<Records> open_images(const RecordsOptions& options) {
  return std::make_unique<Images>(options);
}

bool looks_like_images(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return false;
  return !list_class_folders(path).empty();
}

}  // namespace ronde::data::files
