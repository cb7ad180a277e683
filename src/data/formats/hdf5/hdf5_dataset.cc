#include "ronde/data/formats/hdf5/hdf5_dataset.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace ronde::data::files {
namespace {

constexpr std::size_t kMostBlock = 16 << 20, kMostBlocks = 4;  // kept of each dataset: 64 MiB at the most

Type integer_of(std::size_t bytes, bool has_sign) {
  switch (bytes) {
    case 1: return has_sign ? Type::I8 : Type::U8;
    case 2: return has_sign ? Type::I16 : Type::U16;
    case 4: return has_sign ? Type::I32 : Type::I64;  // there is no u32
    default: return Type::I64;
  }
}

}  // namespace

Hdf5Dataset::Hdf5Dataset(hid_t file, std::string file_name, std::string name)
    : file_name_(std::move(file_name)),
      name_(std::move(name)),
      dataset_(H5Dopen2(file, name_.c_str(), H5P_DEFAULT), H5Dclose) {
  if (!dataset_) throw hdf5_error("{}: dataset '{}' cannot be opened", file_name_, name_);
  const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  if (dimensions < 1)
    throw Error::bad_input("{}: dataset '{}' is a single value; it needs one row per sample", file_name_, name_);
  std::vector<hsize_t> extents(static_cast<std::size_t>(dimensions));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  for (const hsize_t extent : extents)
    if (extent > static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max()))
      throw Error::bad_input("{}: dataset '{}' has a dimension of size {}", file_name_, name_, extent);
  rows_ = static_cast<std::int64_t>(extents[0]);
  row_shape_.assign(extents.begin() + 1, extents.end());

  const Hdf5Handle type(H5Dget_type(dataset_.get()), H5Tclose);
  if (!type) throw hdf5_error("{}: dataset '{}' has an unsupported type", file_name_, name_);
  find_type(type.get());
  if (is_bytes() && !row_shape_.empty())
    throw Error::bad_input("{}: dataset '{}' has {} dimensions of strings, but a sample must have one string",
                           file_name_, name_, dimensions);
  if (is_bytes()) return;
  memory_type_ = Hdf5Handle(H5Tcopy(hdf5_type(type_)), H5Tclose);
  Array::view(type_, row_shape_, nullptr, nullptr);  // refuses what cannot be counted
  const Hdf5Handle properties(H5Dget_create_plist(dataset_.get()), H5Pclose);
  find_blocks(properties.get());
}

void Hdf5Dataset::find_type(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      const bool has_sign = H5Tget_sign(type) != H5T_SGN_NONE;
      if (bytes > 8 || (bytes == 8 && !has_sign)) break;
      type_ = integer_of(bytes, has_sign);
      return;
    }
    case H5T_FLOAT: type_ = bytes <= 4 ? Type::F32 : Type::F64; return;
    case H5T_ENUM:  // h5py's bool
      if (bytes != 1) break;
      type_ = Type::U8;
      memory_type_ = Hdf5Handle(H5Tcopy(type), H5Tclose);
      return;
    case H5T_STRING:
      kind_ = H5Tis_variable_str(type) > 0 ? Kind::Text : Kind::FixedText;
      fixed_bytes_ = kind_ == Kind::FixedText ? bytes : 0;
      memory_type_ = Hdf5Handle(H5Tcopy(type), H5Tclose);
      return;
    case H5T_OPAQUE:
      kind_ = Kind::Opaque;
      fixed_bytes_ = bytes;
      memory_type_ = Hdf5Handle(H5Tcopy(type), H5Tclose);
      return;
    case H5T_VLEN: {
      const Hdf5Handle inside(H5Tget_super(type), H5Tclose);
      if (H5Tget_class(inside.get()) != H5T_INTEGER || H5Tget_size(inside.get()) != 1) break;
      kind_ = Kind::Bytes;
      memory_type_ = Hdf5Handle(H5Tvlen_create(H5T_NATIVE_UINT8), H5Tclose);
      return;
    }
    default: break;
  }
  throw Error::bad_input(
      "{}: dataset '{}' has an unsupported type; supported are integers up to i64, floats, text, opaque and "
      "variable-length bytes",
      file_name_, name_);
}

// A chunk is unpacked as a whole, so its rows are read together; chunks that cut rows to pieces are left to the
// library.
void Hdf5Dataset::find_blocks(hid_t properties) {
  if (H5Pget_layout(properties) != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(row_shape_.size() + 1);
  if (H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) < 0) return;
  const std::size_t bytes = std::max<std::size_t>(1, row_bytes());
  if (chunk[0] <= kMostBlock / bytes) block_rows_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(chunk[0]));
}

std::size_t Hdf5Dataset::row_bytes() const {
  return Array::view(type_, row_shape_, nullptr, nullptr).bytes();
}

std::string Hdf5Dataset::place(std::int64_t row) const {
  return fmt::format("{}: dataset '{}', sample {}", file_name_, name_, row);
}

Hdf5Handle Hdf5Dataset::select(std::int64_t first, std::int64_t count) const {
  std::vector<hsize_t> start(row_shape_.size() + 1), extent(row_shape_.begin(), row_shape_.end());
  start[0] = static_cast<hsize_t>(first);
  extent.insert(extent.begin(), static_cast<hsize_t>(count));
  Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) < 0)
    throw hdf5_error("{} cannot be read", place(first));
  return space;
}

Array Hdf5Dataset::read_rows(std::int64_t first, std::int64_t count) {
  Shape shape = row_shape_;
  shape.insert(shape.begin(), count);
  Array rows(type_, shape);
  if (rows.empty()) return rows;
  const Hdf5Handle there = select(first, count);
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const Hdf5Handle here(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  if (H5Dread(dataset_.get(), memory_type_.get(), here.get(), there.get(), H5P_DEFAULT, rows.writable()) < 0)
    throw hdf5_error("{} cannot be read", place(first));
  return rows;
}

Array Hdf5Dataset::read_bytes(std::int64_t index) {
  const Hdf5Handle there = select(index, 1);
  const hsize_t one = 1;
  const Hdf5Handle here(H5Screate_simple(1, &one, nullptr), H5Sclose);
  std::string fixed(fixed_bytes_, '\0');
  char* text = nullptr;
  hvl_t list{};
  void* into = kind_ == Kind::Text    ? static_cast<void*>(&text)
               : kind_ == Kind::Bytes ? static_cast<void*>(&list)
                                      : fixed.data();
  if (H5Dread(dataset_.get(), memory_type_.get(), here.get(), there.get(), H5P_DEFAULT, into) < 0)
    throw hdf5_error("{} cannot be read", place(index));
  if (fixed_bytes_ > 0) {
    if (kind_ == Kind::FixedText) fixed.resize(std::strlen(fixed.c_str()));
    return Array::bytes_of(fixed);
  }
  const std::string_view got = kind_ == Kind::Text ? std::string_view(text ? text : "")
                                                   : std::string_view(static_cast<const char*>(list.p), list.len);
  Array bytes = Array::bytes_of(got);
  H5Dvlen_reclaim(memory_type_.get(), here.get(), H5P_DEFAULT, into);
  return bytes;
}

const Array& Hdf5Dataset::block(std::int64_t first) {
  const auto found = std::ranges::find(blocks_, first, &Block::first);
  if (found != blocks_.end()) {
    blocks_.splice(blocks_.begin(), blocks_, found);
    return blocks_.front().rows;
  }
  Array rows = read_rows(first, std::min(block_rows_, rows_ - first));
  if (blocks_.size() == kMostBlocks) blocks_.pop_back();
  blocks_.push_front({first, std::move(rows)});
  return blocks_.front().rows;
}

Array Hdf5Dataset::row(std::int64_t index) {
  if (is_bytes()) return read_bytes(index);
  Array row(type_, row_shape_);
  if (row.empty()) return row;
  const std::int64_t first = index / block_rows_ * block_rows_;
  const Array rows = block_rows_ > 1 ? block(first) : read_rows(index, 1);
  std::memcpy(row.writable(), rows.text().data() + static_cast<std::size_t>(index - first) * row.bytes(), row.bytes());
  return row;
}

}  // namespace ronde::data::files
