#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/file_descriptor.h"
#include "ronde/data/detail/file_io.h"
#include "ronde/data/files/naming.h"
#include "ronde/data/files/npy_header.h"
#include "ronde/data/files/uniform.h"
#include "ronde/data/files/writers.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kBuffer = 1 << 20;
constexpr std::int64_t kMostRows = 1'000'000'000'000;  // what a header leaves room for

class NpyWriter : public RecordWriter {
 public:
  explicit NpyWriter(const WriterOptions& options) : path_(options.path), classes_(options.classes) {
    std::filesystem::create_directory(path_);
  }

  void add(const Sample& given, std::string_view key) override {
    Sample sample = given;
    sample.erase("key");  // texts of different lengths are no array
    for (const auto& [name, array] : sample.arrays()) {
      if (array.type() == Type::BF16)
        throw Error::bad_input("'{}' of sample '{}' is {}, which NumPy has not", name, key,
                               to_text(array.type(), array.shape()));
      if (name == "image" && is_bytes(array))
        throw Error::bad_input(
            "sample '{}' is an encoded picture, and .npy holds pixels: choose tfrecord, lmdb, hdf5, "
            "images, tar or pack",
            key);
      if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
        throw Error::bad_input("'{}' of sample '{}' is no name that a file could have", name, key);
    }
    uniform_.check(sample, key, /* bytes_vary */ false);
    if (columns_.empty()) open_files(sample);
    for (Column& column : columns_) {
      column.buffer += sample.at(column.name).text();
      if (column.buffer.size() >= kBuffer) flush(column);
    }
    ++rows_;
  }

  void finish() override {
    for (Column& column : columns_) {
      flush(column);
      const std::string header = header_of(column, rows_);
      if (::pwrite(column.file.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
          ::fsync(column.file.get()) != 0)
        throw Error::system(errno, "cannot write {}", column.path);
    }
    write_classes(path_, classes_);
  }

 private:
  struct Column {
    std::string name, path;
    Type type;
    Shape row;
    FileDescriptor file;
    std::string buffer;
  };

  // How many rows there will be is not known at first, so the header is made for many: it has the same size later.
  static std::string header_of(const Column& column, std::int64_t rows) {
    Shape shape = column.row;
    shape.insert(shape.begin(), rows);
    std::string header = npy_header(column.type, shape);
    if (rows == kMostRows) return header;
    const std::size_t size = header_of(column, kMostRows).size();
    if (header.size() < size) header = npy_header(column.type, shape, size);
    return header;
  }

  void open_files(const Sample& sample) {
    for (const auto& [name, array] : sample.arrays()) {
      Column column{.name = name,
                    .path = (path_ / (name + ".npy")).string(),
                    .type = array.type(),
                    .row = array.shape(),
                    .file = {},
                    .buffer = {}};
      column.file = FileDescriptor(::open(column.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!column.file) throw Error::system(errno, "cannot write {}", column.path);
      detail::write_all(column.file, header_of(column, kMostRows), column.path);
      columns_.push_back(std::move(column));
    }
  }

  static void flush(Column& column) {
    detail::write_all(column.file, column.buffer, column.path);
    column.buffer.clear();
  }

  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
  Uniform uniform_;
  std::vector<Column> columns_;
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<RecordWriter> make_npy_writer(const WriterOptions& options) {
  return std::make_unique<NpyWriter>(options);
}

}  // namespace ronde::data::files
