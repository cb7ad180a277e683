#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/table/npy_header.h"
#include "ronde/data/formats/uniform.h"
#include "ronde/data/formats/writers.h"
#include "ronde/data/io/growing_file.h"

namespace ronde::data::files {
namespace {

constexpr std::int64_t kMostRows = 1'000'000'000'000;  // what a header leaves room for

class NpyWriter : public RecordWriter {
 public:
  explicit NpyWriter(const WriterOptions& options) : path_(options.path), classes_(options.classes) {
    if (!options.saved) {
      std::filesystem::create_directory(path_);
      return;
    }
    rows_ = options.saved->samples;
    const Prepared first = prepare(options.first, options.first.at("key").text(), 0);
    uniform_.check(first.sample, first.key, /* bytes_vary */ false);
    open_files(first.sample, &*options.saved);
  }

  Prepared prepare(const Sample& given, std::string_view key, std::int64_t number) const override {
    Prepared prepared{.number = number, .key = std::string(key), .sample = given};
    prepared.sample.erase("key");  // texts of different lengths are no array
    for (const auto& [name, array] : prepared.sample.arrays()) {
      if (array.type() == Type::BF16)
        throw Error::bad_input("'{}' of sample '{}' is {}, a type that NumPy does not have", name, key,
                               to_text(array.type(), array.shape()));
      if (name == "image" && is_bytes(array))
        throw Error::bad_input(
            "sample '{}' is an encoded picture, but .npy holds pixels: choose tfrecord, lmdb, hdf5, images, tar or "
            "pack",
            key);
      if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
        throw Error::bad_input("'{}' of sample '{}' cannot be the name of a file", name, key);
    }
    return prepared;
  }

  void put(Prepared prepared) override {
    uniform_.check(prepared.sample, prepared.key, /* bytes_vary */ false);
    if (columns_.empty()) open_files(prepared.sample, nullptr);
    for (Column& column : columns_) column.file.append(prepared.sample.at(column.name).text());
    ++rows_;
  }

  std::optional<Saved> save() override {
    Saved saved{.samples = rows_};
    for (Column& column : columns_) {
      column.file.save();
      saved.files.push_back({column.name + ".npy", column.file.bytes()});
    }
    return saved;
  }

  void finish() override {
    for (Column& column : columns_) {
      column.file.write_over(0, header_of(column, rows_));
      column.file.save();
    }
    write_classes(path_, classes_);
  }

 private:
  struct Column {
    std::string name;
    Type type;
    Shape row;
    detail::GrowingFile file;
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

  void open_files(const Sample& sample, const Saved* saved) {
    for (const auto& [name, array] : sample.arrays()) {
      const std::string file = name + ".npy";
      std::optional<std::uint64_t> kept;
      if (saved) {
        const auto found = std::ranges::find(saved->files, file, &Saved::File::name);
        if (found == saved->files.end()) throw Error::bad_input("{} was not saved", (path_ / file).string());
        kept = found->bytes;
      }
      columns_.push_back({.name = name,
                          .type = array.type(),
                          .row = array.shape(),
                          .file = detail::GrowingFile((path_ / file).string(), kept)});
      if (!kept) columns_.back().file.append(header_of(columns_.back(), kMostRows));
    }
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
