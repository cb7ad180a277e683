#include "ronde/data/io/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/base/text/text.h"

namespace ronde::data::detail {
namespace {

Bytes map_file(const std::string& name) {
  const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw Error::system(errno, "cannot open {}", name);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) throw Error::system(errno, "cannot read {}", name);
  if (!S_ISREG(facts.st_mode)) throw Error::bad_input("{} is not a file", name);
  if (facts.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) throw Error::system(errno, "cannot read {}", name);
  return {static_cast<const std::uint8_t*>(memory), size};
}

void unmap(Bytes bytes) {
  if (!bytes.empty()) ::munmap(const_cast<std::uint8_t*>(bytes.data()), bytes.size());
}

// zlib's state, ended once.
class Inflate {
 public:
  Inflate() {
    if (::inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw Error(Error::Kind::System, "zlib cannot start");
  }
  ~Inflate() { ::inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  z_stream stream{};
};

}  // namespace

std::vector<std::uint8_t> unpack_gzip(Bytes packed, const std::string& name) {
  Inflate inflate;
  z_stream& stream = inflate.stream;
  std::vector<std::uint8_t> out;
  std::size_t taken = 0, made = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (made == out.size()) out.resize(std::max<std::size_t>(2 * out.size(), 4 * packed.size() + 4096));
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();  // zlib counts in 32 bits
    stream.next_in = const_cast<Bytef*>(packed.data() + taken);
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - taken, kMost));
    stream.next_out = out.data() + made;
    stream.avail_out = static_cast<uInt>(std::min(out.size() - made, kMost));
    const uInt in = stream.avail_in, room = stream.avail_out;
    state = ::inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += room - stream.avail_out;
    if (state == Z_STREAM_END) break;
    if (taken == packed.size() && made < out.size())
      throw Error::bad_input("{}: the file ends at byte {}, inside the compressed data", name, taken);
    if (state != Z_OK)
      throw Error::bad_input("{}: damaged near byte {}: {}", name, taken, stream.msg ? stream.msg : "not gzip");
  }
  out.resize(made);
  return out;
}

FileBytes::FileBytes(const std::filesystem::path& path) : name_(path.string()), bytes_(map_file(name_)), mapped_(true) {
  if (!name_.ends_with(".gz")) return;
  const Bytes packed = std::exchange(bytes_, {});
  mapped_ = false;
  try {
    unpacked_ = unpack_gzip(packed, name_);
  } catch (...) {
    unmap(packed);
    throw;
  }
  unmap(packed);
  bytes_ = unpacked_;
}

// A vector that is moved keeps its memory, so what points into it stays right.
FileBytes::FileBytes(FileBytes&& other) noexcept
    : name_(std::move(other.name_)),
      unpacked_(std::move(other.unpacked_)),
      bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)) {}

FileBytes::~FileBytes() {
  if (mapped_) unmap(bytes_);
}

std::filesystem::path find_data_file(const std::string& data_set, const std::filesystem::path& folder,
                                     std::span<const std::string> names) {
  if (folder.empty())
    throw Error::bad_input("'{}' is read from files: set data.path to the folder that holds them ({}, ...)", data_set,
                           names.front());
  std::error_code ignored;
  for (const std::string& name : names)
    for (const char* ending : {"", ".gz"})
      if (std::filesystem::exists(folder / (name + ending), ignored)) return folder / (name + ending);
  throw Error::bad_input(
      "cannot find '{}' in {}: {} {}; set data.path to the folder that holds its files", data_set, folder.string(),
      std::filesystem::is_directory(folder, ignored) ? "the folder holds no" : "there is no folder with",
      join(names, " or ") + " (nor one ending in .gz)");
}

}  // namespace ronde::data::detail
