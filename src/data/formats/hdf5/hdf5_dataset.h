#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "ronde/data/array.h"
#include "ronde/data/formats/hdf5/hdf5_handle.h"

namespace ronde::data::files {

// One dataset of a file, by rows. REQUIRES: an Hdf5Lock for every call but those that are const.
class Hdf5Dataset {
 public:
  // FAILS WITH: BadInput, naming file and dataset: a type that we have not, no dimension.
  Hdf5Dataset(hid_t file, std::string file_name, std::string name);

  const std::string& name() const { return name_; }
  std::int64_t rows() const { return rows_; }
  bool is_text() const { return kind_ == Kind::Text; }
  bool is_bytes() const { return kind_ != Kind::Numbers; }  // a row is bytes of any length
  Type type() const { return type_; }
  const Shape& row_shape() const { return row_shape_; }
  std::size_t row_bytes() const;                           // of numbers
  std::int64_t block_rows() const { return block_rows_; }  // that are read at once

  // A row, as memory of its own. FAILS WITH: BadInput, naming file, dataset and row.
  Array row(std::int64_t index);

 private:
  enum class Kind { Numbers, Text, Bytes, FixedText, Opaque };
  struct Block {
    std::int64_t first = 0;
    Array rows;
  };

  void find_type(hid_t type);
  void find_blocks(hid_t properties);
  const Array& block(std::int64_t first);
  Array read_rows(std::int64_t first, std::int64_t count);
  Array read_bytes(std::int64_t index);
  Hdf5Handle select(std::int64_t first, std::int64_t count) const;
  std::string place(std::int64_t row) const;

  std::string file_name_, name_;
  Hdf5Handle dataset_, memory_type_;
  Kind kind_ = Kind::Numbers;
  Type type_ = Type::U8;
  std::int64_t rows_ = 0, block_rows_ = 1;
  std::size_t fixed_bytes_ = 0;  // of text or opaque values that all have one length
  Shape row_shape_;
  std::list<Block> blocks_;  // the one used last at the front
};

}  // namespace ronde::data::files
