#include "ronde/data/formats/tar/tar_format.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::data::files {
namespace {

// Where things are in a header: POSIX 1003.1, "ustar Interchange Format".
struct Field {
  std::size_t at, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kMagicField{257, 8}, kPrefix{345, 155};
constexpr std::size_t kType = 156;

constexpr std::uint64_t kMostSize = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostName = 1 << 20;  // bytes of a header that holds a name

std::string_view field(std::string_view block, Field where) {
  return block.substr(where.at, where.size);
}

// Up to the first zero.
std::string_view text_of(std::string_view bytes) {
  return bytes.substr(0, bytes.find('\0'));
}

// Octal digits between blanks and zeros; or, where the first bit is set, as GNU tar writes large ones, a binary number.
std::optional<std::uint64_t> number_of(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  if (first & 0x80) {
    std::uint64_t number = first & 0x7f;
    for (const char byte : bytes.substr(1)) {
      if (number >= kMostSize >> 8) return {};  // also what is negative: its first byte is 0xff
      number = number << 8 | static_cast<unsigned char>(byte);
    }
    return number;
  }
  const std::string_view digits = trim(text_of(bytes));
  std::uint64_t number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return {};
    number = number << 3 | static_cast<std::uint64_t>(digit - '0');  // 12 digits at most: it fits
  }
  return number;
}

// The sum of all bytes, the checksum itself counted as blanks.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool inside = i >= kChecksum.at && i < kChecksum.at + kChecksum.size;
    sum += inside ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

bool all_zero(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

std::uint64_t padded(std::uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

void put(std::string& block, Field where, std::string_view text) {
  block.replace(where.at, std::min(text.size(), where.size), text.substr(0, where.size));
}

void append_header(std::string& tar, std::string_view name, std::uint64_t size, char type) {
  std::string block(kTarBlock, '\0');
  put(block, kName, name);
  put(block, kMode, "0000644");
  put(block, kUser, "0000000");
  put(block, kGroup, "0000000");
  put(block, kSize, fmt::format("{:011o}", size));
  put(block, kTime, "00000000000");  // no time: the same samples make the same file
  put(block, kMagicField, std::string_view("ustar\00000", 8));
  block[kType] = type;
  put(block, kChecksum, fmt::format("{:06o}", sum_of(block)) + std::string("\0 ", 2));
  tar += block;
}

// "27 path=a/b.jpg\n": the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

void append_padded(std::string& tar, std::string_view bytes) {
  tar += bytes;
  tar.append(padded(bytes.size()) - bytes.size(), '\0');
}

}  // namespace

struct TarWalk::Header {
  std::uint64_t at = 0, size = 0;
  char type = '0';
  std::string name;
};

Error TarWalk::wrong(std::uint64_t at, std::string_view how) const {
  return Error::bad_input("{}: byte {}: {}", file_, at, how);
}

TarWalk::Header TarWalk::take_header() {
  if (bytes_.size() - at_ < kTarBlock)
    throw Error::bad_input("{}: the file ends at byte {}, inside the header that begins at byte {}", file_,
                           bytes_.size(), at_);
  const std::string_view block = bytes_.substr(at_, kTarBlock);
  const auto checksum = number_of(field(block, kChecksum));
  if (!checksum || *checksum != sum_of(block))
    throw wrong(at_, at_ == 0 ? "not a tar file: the checksum of its first header does not match"
                              : "the checksum of a header does not match");
  const auto size = number_of(field(block, kSize));
  if (!size || *size > kMostSize) throw wrong(at_, "the size of a file is not a valid number");
  Header header{.at = at_, .size = *size, .type = block[kType], .name = std::string(text_of(field(block, kName)))};
  // GNU tar has other things where ustar has a prefix, and says so by its magic.
  if (field(block, kMagicField).substr(0, 6) == std::string_view("ustar\0", 6))
    if (const auto prefix = text_of(field(block, kPrefix)); !prefix.empty())
      header.name = fmt::format("{}/{}", prefix, header.name);
  at_ += kTarBlock;
  return header;
}

std::string_view TarWalk::take_bytes(std::uint64_t size, std::uint64_t header, std::string_view what) {
  if (size > bytes_.size() - at_)
    throw Error::bad_input("{}: the file ends at byte {}, inside {} that begins at byte {}", file_, bytes_.size(), what,
                           header);
  const std::string_view bytes = bytes_.substr(at_, size);
  at_ = std::min<std::uint64_t>(at_ + padded(size), bytes_.size());
  return bytes;
}

void TarWalk::take_pax(std::string_view records, std::uint64_t header) {
  while (!records.empty()) {
    const auto blank = records.find(' ');
    const auto length = parse_number<std::size_t>(records.substr(0, blank));
    if (blank == std::string_view::npos || !length || *length <= blank + 1 || *length > records.size() ||
        records[*length - 1] != '\n')
      throw wrong(header, "a pax header holds an invalid record");
    const std::string_view record = records.substr(blank + 1, *length - blank - 2);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos) throw wrong(header, "a pax header holds an invalid record");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") long_name_ = std::string(value);
    if (key == "size") {
      pax_size_ = parse_number<std::uint64_t>(value);
      if (!pax_size_ || *pax_size_ > kMostSize) throw wrong(header, "a pax header holds an invalid size");
    }
    records.remove_prefix(*length);
  }
}

std::optional<TarMember> TarWalk::next() {
  first_header_ = at_;
  while (at_ < bytes_.size()) {
    if (bytes_.size() - at_ >= kTarBlock && all_zero(bytes_.substr(at_, kTarBlock))) {
      // The end; unless tars were put together, and then more follows.
      closed_ = true;
      first_header_ = at_ += kTarBlock;
      continue;
    }
    Header header = take_header();
    closed_ = false;
    if (header.type == 'L' || header.type == 'x') {
      if (header.size > kMostName) throw wrong(header.at, "a name in a header is longer than 1 MiB");
      const std::string_view bytes = take_bytes(header.size, header.at, "a header");
      if (header.type == 'L')
        long_name_ = std::string(text_of(bytes));
      else
        take_pax(bytes, header.at);
      continue;
    }
    const bool is_file = header.type == '0' || header.type == '\0' || header.type == '7';
    if (header.type == 'S' || header.type == 'M' || header.type == 'V')
      throw wrong(header.at, "sparse and multi-volume files are not supported: create the tar again without them");
    const bool has_bytes = is_file || header.type == 'K' || header.type == 'g' || header.type == 'D';
    const std::uint64_t size = pax_size_ ? *pax_size_ : header.size;
    std::string name = long_name_ ? *long_name_ : header.name;
    const std::uint64_t offset = at_, begin = first_header_;
    if (has_bytes) take_bytes(size, header.at, is_file ? fmt::format("'{}'", name) : "a header");
    if (header.type == 'K' || header.type == 'g') continue;  // the target of a link; what holds for all files
    long_name_.reset();
    pax_size_.reset();
    first_header_ = at_;
    if (is_file && !name.ends_with('/')) return TarMember{std::move(name), begin, offset, size};
  }
  if (!closed_)
    throw Error::bad_input("{}: the file ends at byte {} without the empty blocks that close a tar: it was cut off",
                           file_, bytes_.size());
  return {};
}

void append_tar_member(std::string& tar, std::string_view name, std::string_view bytes) {
  std::string extended;
  if (name.size() > kName.size) extended += pax_record("path", name);
  if (bytes.size() >= std::uint64_t{1} << 33) extended += pax_record("size", std::to_string(bytes.size()));
  if (!extended.empty()) {
    append_header(tar, "pax", extended.size(), 'x');
    append_padded(tar, extended);
  }
  append_header(tar, name, bytes.size() >= std::uint64_t{1} << 33 ? 0 : bytes.size(), '0');
  append_padded(tar, bytes);
}

void append_tar_end(std::string& tar) {
  tar.append(2 * kTarBlock, '\0');
}

}  // namespace ronde::data::files
