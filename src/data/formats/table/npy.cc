#include "ronde/data/formats/table/npy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/table/npy_header.h"
#include "ronde/data/formats/typed.h"
#include "ronde/data/io/file_bytes.h"

namespace ronde::data::files {
namespace {

// A file, mapped, and what it says.
struct NpyFile {
  std::string stem;
  std::shared_ptr<const detail::FileBytes> bytes;
  NpyHeader header;
};

NpyFile open_file(const std::filesystem::path& path) {
  auto bytes = std::make_shared<const detail::FileBytes>(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->bytes().size());
  NpyHeader header = parse_npy_header(text, path.string());
  if (header.shape.empty())
    throw Error::bad_input("{} holds a single number; it needs one row per sample", path.string());
  return {path.stem().string(), std::move(bytes), std::move(header)};
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return {path};
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator entries(path, failure);
  if (failure) throw Error::system(failure.value(), "cannot read the folder {}", path.string());
  for (const auto& entry : entries)
    if (entry.path().extension() == ".npy" && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path());
  std::ranges::sort(files);
  if (files.empty()) throw Error::bad_input("{} holds no .npy file", path.string());
  return files;
}

// A sample of this shape can be a picture of bytes: rows, columns, and perhaps channels.
bool is_picture_shape(const NpyHeader& header) {
  return header.type == Type::U8 && (header.shape.size() == 3 || header.shape.size() == 4);
}

class NpyRecords : public Records {
 public:
  explicit NpyRecords(const RecordsOptions& options)
      : name_(options.path.string()),
        naming_{.image = options.image, .label = options.label, .classes = read_classes(options.path)} {
    for (const auto& path : files_in(options.path)) files_.push_back(open_file(path));
    size_ = files_.front().header.shape.front();
    for (NpyFile& file : files_) {
      if (file.header.shape.front() != size_)
        throw Error::bad_input("{} holds {} samples, but {} holds {}", files_.front().bytes->name(), size_,
                               file.bytes->name(), file.header.shape.front());
      file.stem = array_name(file.stem, is_picture_shape(file.header), files_.size() == 1, naming_);
    }
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (files_[i].stem == files_[j].stem)
          throw Error::bad_input("{} and {} would both become '{}'", files_[j].bytes->name(), files_[i].bytes->name(),
                                 files_[i].stem);
    if (size_ == 0) throw Error::bad_input("{} holds no samples", name_);
  }

  std::string name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  std::vector<std::string> classes() const override { return naming_.classes; }
  std::size_t bytes(std::int64_t) const override {
    std::size_t sum = 0;
    for (const NpyFile& file : files_) sum += row_bytes(file);
    return sum + 64;
  }
  std::string where(std::int64_t index) const override { return fmt::format("{} (sample {})", name_, index); }

  Sample read(std::int64_t index) const override {
    Sample sample;
    for (const NpyFile& file : files_) sample.set(file.stem, row(file, index));
    use_our_names(sample, naming_, where(index));
    return sample;
  }

 private:
  static std::size_t row_bytes(const NpyFile& file) {
    std::size_t bytes = size_of(file.header.type);
    for (std::size_t i = 1; i < file.header.shape.size(); ++i) bytes *= static_cast<std::size_t>(file.header.shape[i]);
    return bytes;
  }

  Array row(const NpyFile& file, std::int64_t index) const {
    Shape shape;
    shape.reserve(file.header.shape.size() + 1);
    shape.assign(file.header.shape.begin() + 1, file.header.shape.end());
    const bool picture = file.stem == "image" || (!naming_.image.empty() && file.stem == naming_.image);
    if (picture && shape.size() == 2) shape.push_back(1);  // rows and columns of one channel
    const std::size_t bytes = row_bytes(file);
    const std::uint8_t* begin =
        file.bytes->bytes().data() + file.header.begin + static_cast<std::size_t>(index) * bytes;
    return from_bytes(file.header.type, std::move(shape),
                      Array::view(Type::U8, {static_cast<std::int64_t>(bytes)}, begin, file.bytes), file.bytes->name());
  }

  const std::string name_;
  const Naming naming_;
  std::vector<NpyFile> files_;
  std::int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Records> open_npy(const RecordsOptions& options) {
  return std::make_unique<NpyRecords>(options);
}

bool looks_like_npy(const std::filesystem::path& path) {
  if (path.extension() == ".npy") return true;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
    if (entry.path().extension() == ".npy") return true;
  return false;
}

}  // namespace ronde::data::files
