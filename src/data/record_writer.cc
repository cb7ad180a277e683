#include "ronde/data/record_writer.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/data/files/naming.h"
#include "ronde/data/files/writers.h"

namespace ronde::data {
namespace {

struct Format {
  std::string_view name;
  std::unique_ptr<RecordWriter> (*make)(const WriterOptions&);
};

constexpr auto kFormats = std::to_array<Format>({
    {"tfrecord", files::make_tfrecord_writer},
    {"lmdb", files::make_lmdb_writer},
    {"hdf5", files::make_hdf5_writer},
    {"npy", files::make_npy_writer},
    {"csv", files::make_csv_writer},
    {"images", files::make_images_writer},
    {"tar", files::make_tar_writer},
});

// Writes under another name beside the one that was asked for, and takes that at the end.
class WholeOrNothing : public RecordWriter {
 public:
  WholeOrNothing(const Format& format, WriterOptions options) : path_(options.path), part_(part_of(options.path)) {
    remove_part();  // of a program that was killed
    options.path = part_;
    writer_ = format.make(options);
  }
  ~WholeOrNothing() override {
    writer_.reset();
    remove_part();
  }

  void add(const Sample& sample, std::string_view key) override { writer_->add(sample, key); }

  void finish() override {
    writer_->finish();
    writer_.reset();
    std::error_code failure;
    const std::filesystem::path names = files::classes_file(part_);  // only of a file: folders have it inside
    if (std::filesystem::is_regular_file(part_, failure) && std::filesystem::exists(names, failure))
      std::filesystem::rename(names, path_.string() + ".classes.txt", failure);
    if (!failure) std::filesystem::rename(part_, path_, failure);
    if (failure) throw Error::system(failure.value(), "cannot give {} its name", path_.string());
  }

 private:
  // The ending stays, as it tells some writers what to do.
  static std::filesystem::path part_of(const std::filesystem::path& path) {
    return path.parent_path() / (".part-" + path.filename().string());
  }

  void remove_part() const {
    std::error_code ignored;
    std::filesystem::remove_all(part_, ignored);
    std::filesystem::remove(part_.string() + ".classes.txt", ignored);
  }

  const std::filesystem::path path_, part_;
  std::unique_ptr<RecordWriter> writer_;
};

}  // namespace

std::vector<std::string> writer_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::unique_ptr<RecordWriter> make_writer(const WriterOptions& options) {
  const auto found = std::ranges::find(kFormats, options.format, &Format::name);
  if (found == kFormats.end()) {
    const auto names = writer_formats();
    const auto meant = nearest(options.format, names);
    throw Error::bad_input("'{}' is no format that can be written; {}", options.format,
                           meant ? "did you mean " + *meant + "?" : "there are " + join(names, ", "));
  }
  WriterOptions plain = options;
  while (plain.path.has_relative_path() && !plain.path.has_filename()) plain.path = plain.path.parent_path();  // a/b/
  if (!plain.path.has_filename()) throw Error::bad_input("no path says where to write");
  std::error_code failure;
  if (std::filesystem::exists(std::filesystem::symlink_status(plain.path, failure)))
    throw Error::bad_input("{} is there already, and nothing is written over", plain.path.string());
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw Error::bad_input("{} cannot be written: {}", plain.path.string(), failure.message());
  const std::filesystem::path folder = plain.path.parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw Error::bad_input("{} cannot be written: {} is no folder", plain.path.string(), folder.string());
  return std::make_unique<WholeOrNothing>(*found, plain);
}

}  // namespace ronde::data
