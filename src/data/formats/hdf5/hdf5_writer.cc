#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/data/formats/hdf5/hdf5_handle.h"
#include "ronde/data/formats/uniform.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kChunkBytes = 256 << 10, kBuffer = 4 << 20;

// A dataset that grows by rows. REQUIRES: an Hdf5Lock for every call.
class GrowingDataset {
 public:
  GrowingDataset(hid_t file, const std::string& path, std::string name, const Array& first)
      : path_(path), name_(std::move(name)), bytes_(is_bytes(first)), type_(type_of(first)) {
    if (!bytes_) row_.assign(first.shape().begin(), first.shape().end());
    std::vector<hsize_t> now = with_rows(0), most = with_rows(H5S_UNLIMITED);
    const std::size_t row_bytes = bytes_ ? 16 : std::max<std::size_t>(1, first.bytes());
    std::vector<hsize_t> chunk = with_rows(std::max<std::size_t>(1, kChunkBytes / row_bytes));
    for (hsize_t& extent : chunk) extent = std::max<hsize_t>(1, extent);
    const Hdf5Handle space(H5Screate_simple(static_cast<int>(now.size()), now.data(), most.data()), H5Sclose);
    const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.get(), 1);
    dataset_ = Hdf5Handle(
        H5Dcreate2(file, name_.c_str(), type_.get(), space.get(), links.get(), properties.get(), H5P_DEFAULT),
        H5Dclose);
    if (!dataset_) throw cannot_write();
  }

  const std::string& name() const { return name_; }

  void add(const Array& array) {
    if (bytes_)
      texts_.emplace_back(array.text());
    else
      buffer_ += array.text();
    ++waiting_;
    if (buffered_ += array.bytes() + 16; buffered_ >= kBuffer) flush();
  }

  void flush() {
    if (waiting_ == 0) return;
    const std::vector<hsize_t> whole = with_rows(written_ + waiting_), some = with_rows(waiting_);
    std::vector<hsize_t> start(some.size());
    start[0] = written_;
    if (H5Dset_extent(dataset_.get(), whole.data()) < 0) throw cannot_write();
    const Hdf5Handle there(H5Dget_space(dataset_.get()), H5Sclose);
    const Hdf5Handle here(H5Screate_simple(static_cast<int>(some.size()), some.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, start.data(), nullptr, some.data(), nullptr);
    std::vector<hvl_t> lists;
    for (std::string& text : texts_) lists.push_back({text.size(), text.data()});
    const void* from = bytes_ ? static_cast<const void*>(lists.data()) : buffer_.data();
    const bool empty = !bytes_ && buffer_.empty();  // rows of no values
    if (!empty && H5Dwrite(dataset_.get(), type_.get(), here.get(), there.get(), H5P_DEFAULT, from) < 0)
      throw cannot_write();
    written_ += waiting_;
    waiting_ = 0;
    buffered_ = 0;
    texts_.clear();
    buffer_.clear();
  }

 private:
  Error cannot_write() const {
    return Error(Error::Kind::System,
                 fmt::format("{}: dataset '{}' cannot be written: {}", path_, name_, hdf5_reason()));
  }

  std::vector<hsize_t> with_rows(hsize_t rows) const {
    std::vector<hsize_t> extents{rows};
    extents.insert(extents.end(), row_.begin(), row_.end());
    return extents;
  }

  static Hdf5Handle type_of(const Array& array) {
    if (is_bytes(array)) return {H5Tvlen_create(H5T_NATIVE_UINT8), H5Tclose};
    return {H5Tcopy(hdf5_type(array.type())), H5Tclose};
  }

  const std::string path_, name_;
  const bool bytes_;
  const Hdf5Handle type_;
  std::vector<hsize_t> row_;
  Hdf5Handle dataset_;
  hsize_t written_ = 0, waiting_ = 0;
  std::size_t buffered_ = 0;
  std::string buffer_;
  std::vector<std::string> texts_;
};

class Hdf5Writer : public RecordWriter {
 public:
  explicit Hdf5Writer(const WriterOptions& options) : path_(options.path.string()), classes_(options.classes) {
    const Hdf5Lock lock;
    file_ = Hdf5Handle(H5Fcreate(path_.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    if (!file_) throw Error(Error::Kind::System, fmt::format("cannot write {}: {}", path_, hdf5_reason()));
  }
  ~Hdf5Writer() override {
    const Hdf5Lock lock;
    columns_.clear();
    file_.reset();
  }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  Prepared prepare(const Sample& given, std::string_view key, std::int64_t number) const override {
    Prepared prepared{.number = number, .key = std::string(key), .sample = given};
    if (!given.find("key")) prepared.sample.set("key", Array::bytes_of(key));
    for (const auto& [name, array] : given.arrays())
      if (array.type() == Type::BF16)
        throw Error::bad_input("'{}' of sample '{}' is {}, a type that HDF5 does not have", name, key,
                               to_text(array.type(), array.shape()));
    return prepared;
  }

  void put(Prepared prepared) override {
    const Sample& sample = prepared.sample;
    uniform_.check(sample, prepared.key, /* bytes_vary */ true);
    const Hdf5Lock lock;
    if (columns_.empty())
      for (const auto& [name, array] : sample.arrays()) columns_.emplace_back(file_.get(), path_, name, array);
    for (GrowingDataset& column : columns_) column.add(sample.at(column.name()));
  }

  void finish() override {
    const Hdf5Lock lock;
    for (GrowingDataset& column : columns_) column.flush();
    if (!classes_.empty()) write_classes();
    if (H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) < 0)
      throw Error(Error::Kind::System, fmt::format("cannot write {}: {}", path_, hdf5_reason()));
    columns_.clear();
    file_.reset();
  }

 private:
  void write_classes() {
    GrowingDataset names(file_.get(), path_, "classes", Array::bytes_of(""));
    for (const std::string& name : classes_) names.add(Array::bytes_of(name));
    names.flush();
  }

  const std::string path_;
  const std::vector<std::string> classes_;
  Uniform uniform_;
  Hdf5Handle file_;
  std::deque<GrowingDataset> columns_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_hdf5_writer(const WriterOptions& options) {
  return std::make_unique<Hdf5Writer>(options);
}

}  // namespace ronde::data::files
