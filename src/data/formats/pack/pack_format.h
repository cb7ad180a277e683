#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/sample.h"

// The bytes of packs. A pack is a folder: pack.json, which says what there is (pack_manifest.h), and shards, large
// files that are written once and read from front to back or anywhere. A shard is whole in itself:
//
//   header   64 bytes: "RONDEPAK", u32 version, zeros, u32 CRC32C of the 60 bytes before
//   records  each beginning at a multiple of 8, zeros in between
//   index    all that is needed to find and check a record (below)
//   footer   64 bytes: "RONDEEND", u64 records, u64 where the index begins, u64 its bytes, u32 its CRC32C, zeros,
//            u32 CRC32C of the 60 bytes before
//
// A record holds the arrays of a sample. Which arrays, and of which types, is a schema, which the index has once for
// all records, so that a record costs little besides its values: the length of each dimension (LEB128: 7 bits a byte,
// least first), zeros up to a multiple of 8, then the values of the arrays, those of the widest type first. So each
// array lies at a multiple of its type's size, and is used where it lies.
//
//   index    u64 bytes of the schemas, the schemas (below), zeros up to a multiple of 8
//            u32 length and u32 CRC32C of each record: a record that is read alone is checked too, and what is damaged
//            is known exactly; where a record begins follows from the lengths
//            u32 the schema of each record, zeros up to a multiple of 8: only if there are several schemas
//            u64 where the key of each record ends, and the keys
//   schemas  LEB128 their number; for each LEB128 its arrays; for each the length of its name (LEB128), the name, u8
//            type (as data::Type counts), u8 dimensions
//
// All numbers are little-endian. A reader refuses versions above its own; what a later version adds must have a new
// one. All of this is pure, and nothing that the bytes say can lead outside of them.
namespace ronde::data::files {

constexpr std::uint32_t kPackVersion = 1;
constexpr std::size_t kPackEdge = 64;  // bytes of the header, and of the footer
constexpr std::uint64_t kMostRecord = std::uint64_t{1} << 31;

struct PackArray {
  std::string name;
  Type type = Type::U8;
  std::uint8_t dimensions = 1;
  friend bool operator==(const PackArray&, const PackArray&) = default;
};
using PackSchema = std::vector<PackArray>;

// A sample made ready to be written.
struct PackRecord {
  PackSchema schema;
  std::string key;
  std::string bytes;
  std::uint32_t crc = 0;  // of the bytes
};
// `key` is what it is called if it has no "key". FAILS WITH: BadInput: more than 2 GiB, or 255 dimensions.
PackRecord encode_pack_record(const Sample& sample, std::string_view key);

// The arrays of a record, where they lie; `owner` keeps the memory. `where` is for errors.
// REQUIRES: the record begins at a multiple of 8.
// FAILS WITH: BadInput: the dimensions are not those of as many bytes.
Sample decode_pack_record(std::string_view record, const PackSchema& schema, std::shared_ptr<const void> owner,
                          const std::string& where);

std::string make_pack_header();
// FAILS WITH: BadInput: not a pack, damaged, or of a newer version.
void check_pack_header(std::string_view header, const std::string& name);

struct PackFooter {
  std::uint64_t records = 0, index_begin = 0, index_bytes = 0;
  std::uint32_t index_crc = 0;
};
std::string make_pack_footer(const PackFooter& footer);
// `file_bytes`: of the whole shard. FAILS WITH: BadInput: cut off, damaged, or what does not fit into the file.
PackFooter parse_pack_footer(std::string_view footer, std::uint64_t file_bytes, const std::string& name);

// Collects what the index of a shard will say.
class PackIndexMaker {
 public:
  void add(const PackRecord& record);
  std::int64_t records() const { return static_cast<std::int64_t>(key_ends_.size()); }
  std::string make() const;

 private:
  std::vector<PackSchema> schemas_;
  std::string table_, keys_;
  std::vector<std::uint32_t> schema_of_;
  std::vector<std::uint64_t> key_ends_;
};

// The index of a shard. Safe to read from any thread; it owns its bytes.
class PackIndex {
 public:
  // FAILS WITH: BadInput that names the shard: damaged, or records that are not where the footer says.
  PackIndex(std::string bytes, const PackFooter& footer, const std::string& name);

  struct Place {
    std::uint64_t offset = 0;  // in the shard
    std::uint32_t bytes = 0, crc = 0;
  };

  std::int64_t size() const { return static_cast<std::int64_t>(offsets_.size()); }
  // REQUIRES: 0 <= record < size().
  Place place(std::int64_t record) const;
  std::string_view key(std::int64_t record) const;
  const PackSchema& schema(std::int64_t record) const;
  const std::vector<PackSchema>& schemas() const { return schemas_; }

 private:
  std::string bytes_;
  std::vector<PackSchema> schemas_;
  std::vector<std::uint64_t> offsets_;
  std::size_t table_ = 0, schema_of_ = 0, key_ends_ = 0, keys_ = 0;  // where they begin in the bytes
};

// All of a shard that is in memory. FAILS WITH: BadInput, as above.
PackIndex parse_pack_shard(std::string_view shard, const std::string& name);

constexpr std::uint64_t pack_padded(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace ronde::data::files
