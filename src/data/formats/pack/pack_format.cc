#include "ronde/data/formats/pack/pack_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/io/bytes.h"

namespace ronde::data::files {
namespace {

using detail::append_number;
using detail::number_at;

constexpr std::string_view kHeaderMagic = "RONDEPAK", kFooterMagic = "RONDEEND";
constexpr std::uint64_t kMostSchemas = 1 << 20;
constexpr std::uint8_t kLastType = static_cast<std::uint8_t>(Type::F64);

void append_leb(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

// Nothing when the bytes end first, or it is more than 63 bits.
std::optional<std::uint64_t> take_leb(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
  return {};
}

void pad(std::string& bytes) {
  bytes.resize(pack_padded(bytes.size()), '\0');
}

// Header and footer end alike.
std::string closed(std::string edge) {
  edge.resize(kPackEdge - 4, '\0');
  append_number(edge, crc32c(edge));
  return edge;
}

bool is_closed(std::string_view edge) {
  return number_at<std::uint32_t>(edge, kPackEdge - 4) == crc32c(edge.substr(0, kPackEdge - 4));
}

// Whether an array of that shape has no more values than there is room for. Lengths that are beyond all memory are
// refused beside a zero too.
bool fits(const Shape& shape, std::uint64_t room) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  std::uint64_t count = 1;
  for (const std::int64_t length : shape) {
    const auto times = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(length));
    if (count > (empty ? kMost : room) / times) return false;
    count *= times;
  }
  return empty || count <= room;
}

std::optional<std::vector<PackSchema>> parse_schemas(std::string_view bytes) {
  const auto count = take_leb(bytes);
  if (!count || *count > kMostSchemas) return {};
  std::vector<PackSchema> schemas;
  for (std::uint64_t i = 0; i < *count; ++i) {
    PackSchema schema;
    const auto arrays = take_leb(bytes);
    if (!arrays || *arrays > bytes.size()) return {};
    for (std::uint64_t k = 0; k < *arrays; ++k) {
      const auto length = take_leb(bytes);
      if (!length || *length > bytes.size() || bytes.size() - *length < 2) return {};
      const auto type = static_cast<std::uint8_t>(bytes[*length]);
      if (type > kLastType) return {};
      schema.push_back({std::string(bytes.substr(0, *length)), static_cast<Type>(type),
                        static_cast<std::uint8_t>(bytes[*length + 1])});
      bytes.remove_prefix(*length + 2);
    }
    schemas.push_back(std::move(schema));
  }
  return bytes.empty() ? std::optional(std::move(schemas)) : std::nullopt;
}

std::string make_schemas(const std::vector<PackSchema>& schemas) {
  std::string bytes;
  append_leb(bytes, schemas.size());
  for (const PackSchema& schema : schemas) {
    append_leb(bytes, schema.size());
    for (const PackArray& array : schema) {
      append_leb(bytes, array.name.size());
      bytes += array.name;
      bytes += static_cast<char>(array.type);
      bytes += static_cast<char>(array.dimensions);
    }
  }
  return bytes;
}

}  // namespace

PackRecord encode_pack_record(const Sample& sample, std::string_view key) {
  PackRecord record{.schema = {}, .key = std::string(key), .bytes = {}};
  std::vector<const Sample::Named*> arrays;
  for (const Sample::Named& one : sample.arrays())
    if (one.name == "key")
      record.key = std::string(one.array.text());
    else
      arrays.push_back(&one);
  std::ranges::stable_sort(arrays, std::ranges::greater(), [](auto* one) { return size_of(one->array.type()); });
  if (sample.bytes() > kMostRecord)
    throw Error::bad_input("'{}' is larger than 2 GiB, the maximum size of a record", key);
  for (const Sample::Named* one : arrays) {
    const Shape& shape = one->array.shape();
    if (shape.size() > 255) throw Error::bad_input("'{}' has more than 255 dimensions", one->name);
    record.schema.push_back({one->name, one->array.type(), static_cast<std::uint8_t>(shape.size())});
    for (const std::int64_t length : shape) append_leb(record.bytes, static_cast<std::uint64_t>(length));
  }
  pad(record.bytes);
  record.bytes.reserve(record.bytes.size() + sample.bytes());
  for (const Sample::Named* one : arrays) record.bytes += one->array.text();
  record.crc = crc32c(record.bytes);
  return record;
}

Sample decode_pack_record(std::string_view record, const PackSchema& schema, std::shared_ptr<const void> owner,
                          const std::string& where) {
  const auto damaged = [&] {
    return Error::bad_input("{}: the record does not hold the arrays that the index names", where);
  };
  std::string_view head = record;
  std::vector<Shape> shapes;
  for (const PackArray& array : schema) {
    Shape shape;
    for (int i = 0; i < array.dimensions; ++i) {
      const auto length = take_leb(head);
      if (!length) throw damaged();
      shape.push_back(static_cast<std::int64_t>(*length));
    }
    shapes.push_back(std::move(shape));
  }
  std::uint64_t at = pack_padded(record.size() - head.size());
  Sample sample;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (at > record.size() || !fits(shapes[i], (record.size() - at) / size_of(schema[i].type))) throw damaged();
    Array array = Array::view(schema[i].type, std::move(shapes[i]), record.data() + at, owner);
    at += array.bytes();
    sample.set(schema[i].name, std::move(array));
  }
  if (at != record.size()) throw damaged();
  return sample;
}

std::string make_pack_header() {
  std::string header(kHeaderMagic);
  append_number(header, kPackVersion);
  return closed(std::move(header));
}

void check_pack_header(std::string_view header, const std::string& name) {
  if (header.size() < kPackEdge)
    throw Error::bad_input("{}: the file ends at byte {}, inside its header", name, header.size());
  if (!header.starts_with(kHeaderMagic))
    throw Error::bad_input("{}: byte 0: not a pack: it does not begin with {}", name, kHeaderMagic);
  // The version before the checksum: another version may have another header.
  if (const auto version = number_at<std::uint32_t>(header, 8); version > kPackVersion)
    throw Error::bad_input("{} is a pack of version {}, but this Ronde reads up to version {}: use a newer Ronde", name,
                           version, kPackVersion);
  if (!is_closed(header.substr(0, kPackEdge)))
    throw Error::bad_input("{}: byte 0: the checksum of the header does not match", name);
}

std::string make_pack_footer(const PackFooter& footer) {
  std::string bytes(kFooterMagic);
  append_number(bytes, footer.records);
  append_number(bytes, footer.index_begin);
  append_number(bytes, footer.index_bytes);
  append_number(bytes, footer.index_crc);
  return closed(std::move(bytes));
}

PackFooter parse_pack_footer(std::string_view footer, std::uint64_t file_bytes, const std::string& name) {
  if (file_bytes < 2 * kPackEdge || footer.size() != kPackEdge || !footer.starts_with(kFooterMagic))
    throw Error::bad_input("{}: the file ends at byte {} without the footer that closes a shard: it was cut off", name,
                           file_bytes);
  const std::uint64_t at = file_bytes - kPackEdge;
  if (!is_closed(footer)) throw Error::bad_input("{}: byte {}: the checksum of the footer does not match", name, at);
  const PackFooter parsed{.records = number_at<std::uint64_t>(footer, 8),
                          .index_begin = number_at<std::uint64_t>(footer, 16),
                          .index_bytes = number_at<std::uint64_t>(footer, 24),
                          .index_crc = number_at<std::uint32_t>(footer, 32)};
  if (parsed.index_begin < kPackEdge || parsed.index_begin > at || parsed.index_bytes != at - parsed.index_begin)
    throw Error::bad_input("{}: byte {}: the footer names an index that does not exist", name, at);
  return parsed;
}

void PackIndexMaker::add(const PackRecord& record) {
  auto schema = std::ranges::find(schemas_, record.schema);
  if (schema == schemas_.end()) schema = schemas_.insert(schemas_.end(), record.schema);
  schema_of_.push_back(static_cast<std::uint32_t>(schema - schemas_.begin()));
  append_number(table_, static_cast<std::uint32_t>(record.bytes.size()));
  append_number(table_, record.crc);
  keys_ += record.key;
  key_ends_.push_back(keys_.size());
}

std::string PackIndexMaker::make() const {
  const std::string schemas = make_schemas(schemas_);
  std::string index;
  append_number(index, std::uint64_t{schemas.size()});
  index += schemas;
  pad(index);
  index += table_;
  if (schemas_.size() > 1) {
    for (const std::uint32_t schema : schema_of_) append_number(index, schema);
    pad(index);
  }
  for (const std::uint64_t end : key_ends_) append_number(index, end);
  return index + keys_;
}

PackIndex::PackIndex(std::string bytes, const PackFooter& footer, const std::string& name) : bytes_(std::move(bytes)) {
  const auto damaged = [&](std::string_view how) {
    return Error::bad_input("{}: byte {}: the index is damaged: {}", name, footer.index_begin, how);
  };
  if (bytes_.size() != footer.index_bytes) throw damaged("it is cut off");
  if (crc32c(bytes_) != footer.index_crc) throw damaged("its checksum does not match");
  const std::string_view all = bytes_;
  const std::uint64_t schema_bytes = all.size() < 8 ? ~std::uint64_t{0} : number_at<std::uint64_t>(all, 0);
  if (all.size() < 8 || schema_bytes > all.size() - 8) throw damaged("its schemas are longer than the index");
  auto schemas = parse_schemas(all.substr(8, schema_bytes));
  if (!schemas) throw damaged("its schemas cannot be read");
  schemas_ = *std::move(schemas);

  // Each record takes at least 16 bytes of the index: no more of them can be.
  const std::uint64_t records = footer.records;
  table_ = pack_padded(8 + schema_bytes);
  if (table_ > all.size() || records > (all.size() - table_) / 16)
    throw damaged("its number of records does not match");
  schema_of_ = table_ + 8 * records;
  key_ends_ = schema_of_ + (schemas_.size() > 1 ? pack_padded(4 * records) : 0);
  keys_ = key_ends_ + 8 * records;
  if (keys_ > all.size()) throw damaged("its number of records does not match");
  if (schemas_.empty() && records > 0) throw damaged("some records have no schema");

  offsets_.reserve(records);
  std::uint64_t offset = kPackEdge, key_end = 0;
  for (std::uint64_t i = 0; i < records; ++i) {
    offsets_.push_back(offset);
    offset += pack_padded(number_at<std::uint32_t>(all, table_ + 8 * i));
    const auto next = number_at<std::uint64_t>(all, key_ends_ + 8 * i);
    if (next < key_end || next > all.size() - keys_) throw damaged("its keys overlap");
    key_end = next;
    if (schemas_.size() > 1 && number_at<std::uint32_t>(all, schema_of_ + 4 * i) >= schemas_.size())
      throw damaged("a record has an unknown schema");
  }
  if (offset != footer.index_begin) throw damaged("its records are not where it says");
}

PackIndex::Place PackIndex::place(std::int64_t record) const {
  const auto at = table_ + 8 * static_cast<std::size_t>(record);
  return {offsets_[static_cast<std::size_t>(record)], number_at<std::uint32_t>(bytes_, at),
          number_at<std::uint32_t>(bytes_, at + 4)};
}

std::string_view PackIndex::key(std::int64_t record) const {
  const auto at = key_ends_ + 8 * static_cast<std::size_t>(record);
  const std::uint64_t begin = record == 0 ? 0 : number_at<std::uint64_t>(bytes_, at - 8);
  return std::string_view(bytes_).substr(keys_ + begin, number_at<std::uint64_t>(bytes_, at) - begin);
}

const PackSchema& PackIndex::schema(std::int64_t record) const {
  if (schemas_.size() == 1) return schemas_.front();
  return schemas_[number_at<std::uint32_t>(bytes_, schema_of_ + 4 * static_cast<std::size_t>(record))];
}

PackIndex parse_pack_shard(std::string_view shard, const std::string& name) {
  check_pack_header(shard.substr(0, kPackEdge), name);
  const PackFooter footer =
      parse_pack_footer(shard.substr(shard.size() - std::min(shard.size(), kPackEdge)), shard.size(), name);
  return {std::string(shard.substr(footer.index_begin, footer.index_bytes)), footer, name};
}

}  // namespace ronde::data::files
