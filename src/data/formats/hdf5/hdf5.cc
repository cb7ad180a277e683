#include "ronde/data/formats/hdf5/hdf5.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ronde/data/formats/hdf5/hdf5_dataset.h"
#include "ronde/data/formats/hdf5/hdf5_handle.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/runs.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

herr_t take_name(hid_t group, const char* name, const H5L_info_t*, void* into) {
  const Hdf5Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
  if (object && H5Iget_type(object.get()) == H5I_DATASET)
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
  return 0;
}

Hdf5Handle open_file(const std::string& path) {
  detail::open_to_read(path);  // says better what is wrong with a path
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access.get(), false, true);  // only read: and many file systems have no locks
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file) throw hdf5_error("{}: not a readable HDF5 file", path);
  return file;
}

bool can_be_picture(const Hdf5Dataset& dataset) {
  if (dataset.is_bytes()) return true;
  return dataset.type() == Type::U8 && (dataset.row_shape().size() == 2 || dataset.row_shape().size() == 3);
}

class Hdf5Records : public Records {
 public:
  explicit Hdf5Records(const RecordsOptions& options)
      : path_(options.path.string()), naming_{.image = options.image, .label = options.label} {
    const Hdf5Lock lock;
    file_ = open_file(path_);
    try {
      find_datasets();
    } catch (...) {
      close();
      throw;
    }
  }
  ~Hdf5Records() override {
    const Hdf5Lock lock;
    close();
  }
  Hdf5Records(const Hdf5Records&) = delete;
  Hdf5Records& operator=(const Hdf5Records&) = delete;

  std::string name() const override { return path_; }
  std::int64_t size() const override { return size_; }
  std::vector<std::string> classes() const override { return naming_.classes; }
  std::string where(std::int64_t index) const override { return fmt::format("{} (sample {})", path_, index); }

  std::size_t bytes(std::int64_t index) const override {
    const Hdf5Lock lock;
    std::size_t sum = 1024;
    for (const Column& column : columns_)
      // How long bytes are only reading them tells: the row is then kept for read(), which comes next.
      sum += column.dataset->is_bytes() ? bytes_row(column, index).bytes() : column.dataset->row_bytes();
    return sum;
  }

  Sample read(std::int64_t index) const override {
    Sample sample;
    {
      const Hdf5Lock lock;
      for (const Column& column : columns_) sample.set(column.name, row(column, index));
    }
    use_our_names(sample, naming_, where(index));
    return sample;
  }

  std::vector<Range> chunks() const override {
    // The dataset whose rows are largest says how all are read.
    std::int64_t rows = 1;
    std::size_t largest = 0;
    for (const Column& column : columns_)
      if (!column.dataset->is_bytes() && column.dataset->row_bytes() > largest) {
        largest = column.dataset->row_bytes();
        rows = column.dataset->block_rows();
      }
    const auto wanted = static_cast<std::int64_t>(kRunBytes / std::max<std::size_t>(largest, 1024));
    const std::int64_t step = rows * std::max<std::int64_t>(1, wanted / rows);
    std::vector<Range> ranges;
    for (std::int64_t begin = 0; begin < size_; begin += step) ranges.push_back({begin, std::min(begin + step, size_)});
    return ranges;
  }

 private:
  struct Column {
    std::string name;
    std::unique_ptr<Hdf5Dataset> dataset;
  };
  struct KeptRow {
    const Column* column = nullptr;
    std::int64_t index = 0;
    Array bytes;
  };

  void close() {
    columns_.clear();
    file_.reset();
  }

  void find_datasets() {
    std::vector<std::string> names;
    if (H5Lvisit(file_.get(), H5_INDEX_NAME, H5_ITER_INC, take_name, &names) < 0)
      throw hdf5_error("{} cannot be read", path_);
    for (const std::string& name : names) {
      auto dataset = std::make_unique<Hdf5Dataset>(file_.get(), path_, name);
      if (name == "classes" && dataset->is_bytes())
        for (std::int64_t i = 0; i < std::min(dataset->rows(), kMostClasses); ++i)
          naming_.classes.emplace_back(dataset->row(i).text());
      else
        columns_.push_back({name, std::move(dataset)});
    }
    if (columns_.empty()) throw Error::bad_input("{} holds no datasets", path_);
    size_ = columns_.front().dataset->rows();
    for (Column& column : columns_) {
      if (column.dataset->rows() != size_)
        throw Error::bad_input("{}: dataset '{}' holds {} samples, but '{}' holds {}", path_,
                               columns_.front().dataset->name(), size_, column.dataset->name(), column.dataset->rows());
      column.name = array_name(column.name, can_be_picture(*column.dataset), columns_.size() == 1, naming_);
    }
    for (std::size_t i = 0; i < columns_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (columns_[i].name == columns_[j].name)
          throw Error::bad_input("{}: datasets '{}' and '{}' would both become '{}'", path_,
                                 columns_[j].dataset->name(), columns_[i].dataset->name(), columns_[i].name);
    if (size_ == 0) throw Error::bad_input("{} holds no samples", path_);
  }

  // REQUIRES: an Hdf5Lock.
  Array row(const Column& column, std::int64_t index) const {
    if (column.dataset->is_bytes()) return bytes_row(column, index);
    Array row = column.dataset->row(index);
    if (column.name == "image" && row.shape().size() == 2)  // rows and columns of one channel
      return Array::view(row.type(), {row.shape()[0], row.shape()[1], 1}, row.data(), std::make_shared<Array>(row));
    return row;
  }

  Array bytes_row(const Column& column, std::int64_t index) const {
    constexpr std::size_t kMostKept = 64, kMostBytes = 32 << 20;
    for (const KeptRow& kept : kept_)
      if (kept.column == &column && kept.index == index) return kept.bytes;
    Array bytes = column.dataset->row(index);
    std::size_t sum = bytes.bytes();
    for (const KeptRow& kept : kept_) sum += kept.bytes.bytes();
    while (!kept_.empty() && (kept_.size() >= kMostKept || sum > kMostBytes)) {
      sum -= kept_.front().bytes.bytes();
      kept_.erase(kept_.begin());
    }
    kept_.push_back({&column, index, bytes});
    return bytes;
  }

  const std::string path_;
  Naming naming_;
  Hdf5Handle file_;
  std::vector<Column> columns_;
  mutable std::vector<KeptRow> kept_;  // guarded by the Hdf5Lock
  std::int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Records> open_hdf5(const RecordsOptions& options) {
  return std::make_unique<Hdf5Records>(options);
}

}  // namespace ronde::data::files
