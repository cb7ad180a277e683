#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/io/file_bytes.h"

// Indexes that are kept in a file, so that opening a hundred thousand samples is reading one file: columns of numbers
// and a list of texts, used as they lie.
//
//   0   "RONDEIDX"
//   8   u32 kind, u32 version: whose index it is
//   16  u32 CRC32C of all from byte 24 on, u32 columns
//   24  u64 a column: how many numbers it has; and one more, how many texts there are
//   ..  the columns, u64 a number; where each text ends, u64; the texts
//
// All numbers are little-endian.
namespace ronde::data::files {

struct IndexKind {
  std::uint32_t kind = 0, version = 0;
};

using Column = std::vector<std::uint64_t>;

std::string make_index(const IndexKind& kind, std::span<const Column> columns, std::span<const std::string> texts);

// What make_index() made, where it lies. A plain value that points into the bytes.
class IndexView {
 public:
  // FAILS WITH: BadInput, naming the file: damaged, or another kind or version. After that nothing it says can lead
  // outside of the bytes; what its numbers mean is for others to check.
  IndexView(std::string_view bytes, const IndexKind& kind, std::size_t columns, const std::string& name);

  std::size_t length(std::size_t column) const { return lengths_[column]; }
  std::size_t texts() const { return lengths_.back(); }
  // REQUIRES: inside.
  std::uint64_t number(std::size_t column, std::size_t index) const;
  std::string_view text(std::size_t index) const;

 private:
  std::vector<std::size_t> lengths_;     // of each column, the ends of the texts last
  std::vector<const char*> beginnings_;  // likewise
  std::string_view texts_;
};

// Where the index of `data` is kept: beside it as `beside`, or in the cache folder under a name made from the path.
class IndexHome {
 public:
  IndexHome(const std::filesystem::path& data, std::filesystem::path beside, const std::filesystem::path& cache);

  // All that there are, the better one first.
  std::vector<detail::FileBytes> load() const;
  // Beside the data, else in the cache; where neither can be written nothing is kept, and the next opening scans again.
  void save(std::string_view bytes) const;

 private:
  std::filesystem::path beside_, cached_;
};

}  // namespace ronde::data::files
