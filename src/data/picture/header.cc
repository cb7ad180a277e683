#include "ronde/data/picture/header.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/data/picture/tiff.h"

namespace ronde::data::picture {
namespace {

constexpr std::string_view kPng("\x89PNG\r\n\x1a\n", 8);
constexpr std::size_t kPngHeader = 33;  // signature, length, "IHDR", 13 bytes, checksum
constexpr std::uint64_t kMostDeflate = 1032;

constexpr int kStartOfScan = 0xda, kEndOfImage = 0xd9;

std::uint32_t big_endian(std::string_view bytes, std::size_t at, int count) {
  std::uint32_t number = 0;
  for (int i = 0; i < count; ++i)
    number = number << 8 | static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(i)]);
  return number;
}

std::uint8_t byte(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

bool stands_alone(int marker) {
  return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

bool starts_frame(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// A frame's header: what the picture is. `body` is what comes after the length.
Header read_frame(int marker, std::string_view body) {
  if (body.size() < 6) throw Error::bad_input("a JPEG whose frame header is too short");
  Header header{.format = Format::Jpeg};
  header.bits = byte(body, 0);
  if (marker == 0xc3 || (marker >= 0xc5 && marker <= 0xc7) || marker >= 0xcb)
    throw Error::bad_input(
        "a lossless or hierarchical JPEG (frame {:02x}): only baseline and progressive ones can be read", marker);
  if (marker >= 0xc9) throw Error::bad_input("a JPEG with arithmetic coding: only Huffman coding can be read");
  if (header.bits != 8) throw Error::bad_input("a JPEG of {} bits per channel: only 8 can be read", header.bits);
  header.height = static_cast<int>(big_endian(body, 1, 2));
  header.width = static_cast<int>(big_endian(body, 3, 2));
  header.channels = byte(body, 5);
  header.whole = marker == 0xc2;
  if (header.width == 0 || header.height == 0)
    throw Error::bad_input("a JPEG of {} x {} pixels", header.width, header.height);
  if (header.channels != 1 && header.channels != 3 && header.channels != 4)
    throw Error::bad_input("a JPEG of {} channels: only 1, 3 and 4 can be read", header.channels);
  if (body.size() < 6 + 3 * static_cast<std::size_t>(header.channels))
    throw Error::bad_input("a JPEG whose frame header is too short");
  for (std::size_t i = 0; i < static_cast<std::size_t>(header.channels); ++i) {
    header.across[i] = byte(body, 7 + 3 * i) >> 4;
    header.down[i] = byte(body, 7 + 3 * i) & 15;
    if (header.across[i] < 1 || header.across[i] > 4 || header.down[i] < 1 || header.down[i] > 4)
      throw Error::bad_input("a JPEG whose channel {} is sampled {} x {}", i, header.across[i], header.down[i]);
    header.most_across = std::max<int>(header.most_across, header.across[i]);
    header.most_down = std::max<int>(header.most_down, header.down[i]);
  }
  return header;
}

// Blocks of 8 x 8 of all channels, as they are stored: whole units only.
std::uint64_t blocks_of(const Header& header) {
  const auto units = [](int pixels, int most) {
    const int unit = 8 * most;
    return static_cast<std::uint64_t>((pixels + unit - 1) / unit);
  };
  std::uint64_t a_unit = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(header.channels); ++i)
    a_unit += std::uint64_t{header.across[i]} * header.down[i];
  return units(header.width, header.most_across) * units(header.height, header.most_down) * a_unit;
}

// A single channel is stored by its blocks, whatever it says about sampling.
void settle_sampling(Header& header) {
  if (header.channels > 1) return;
  header.across[0] = header.down[0] = 1;
  header.most_across = header.most_down = 1;
}

Header read_jpeg(std::string_view bytes) {
  Header header;
  std::size_t at = 2;
  while (true) {
    while (at < bytes.size() && byte(bytes, at) != 0xff) ++at;  // some writers leave bytes between segments
    while (at < bytes.size() && byte(bytes, at) == 0xff) ++at;
    if (at + 2 >= bytes.size()) throw Error::bad_input("a JPEG that ends at byte {}, in its header", bytes.size());
    const int marker = byte(bytes, at++);
    if (marker == 0 || stands_alone(marker)) continue;
    if (marker == kEndOfImage) throw Error::bad_input("a JPEG without a picture: it ends at byte {}", at);
    const std::size_t length = big_endian(bytes, at, 2);
    if (length < 2 || length > bytes.size() - at)
      throw Error::bad_input("a JPEG that ends at byte {}, in its header", bytes.size());
    const std::string_view body = bytes.substr(at + 2, length - 2);
    if (starts_frame(marker)) {
      if (header.width > 0) throw Error::bad_input("a JPEG with a second frame at byte {}", at - 2);
      header = read_frame(marker, body);
    }
    if (marker == kStartOfScan) {
      if (header.width == 0)
        throw Error::bad_input("a JPEG whose data begins before its frame header, at byte {}", at - 2);
      if (body.empty() || byte(body, 0) < header.channels) header.whole = true;
      settle_sampling(header);
      if (blocks_of(header) / 8 > bytes.size() - at)
        throw Error::bad_input("a JPEG of {} x {} pixels that ends after {} bytes", header.width, header.height,
                               bytes.size());
      return header;
    }
    at += length;
  }
}

Header read_png(std::string_view bytes) {
  if (bytes.size() < kPngHeader || bytes.substr(12, 4) != "IHDR")
    throw Error::bad_input("a PNG that ends at byte {}, in its header", bytes.size());
  constexpr std::array<int, 7> kChannels = {1, 0, 3, 3, 2, 0, 4};  // grey, -, colour, palette, grey + alpha, -, + alpha
  Header header{.format = Format::Png};
  const std::uint32_t width = big_endian(bytes, 16, 4), height = big_endian(bytes, 20, 4);
  const std::uint8_t kind = byte(bytes, 25);
  if (width == 0 || height == 0 || width > 1'000'000 || height > 1'000'000)
    throw Error::bad_input("a PNG of {} x {} pixels: from 1 to 1,000,000 can be read", width, height);
  if (kind >= kChannels.size() || kChannels[kind] == 0) throw Error::bad_input("a PNG of colour type {}", kind);
  header.width = static_cast<int>(width);
  header.height = static_cast<int>(height);
  header.channels = kChannels[kind];
  header.bits = byte(bytes, 24);
  header.whole = byte(bytes, 28) != 0;
  const int stored = kind == 3 ? 1 : header.channels;
  const std::uint64_t least = std::uint64_t{width} * height * static_cast<std::uint64_t>(header.bits * stored) / 8;
  if (least / kMostDeflate > bytes.size())
    throw Error::bad_input("a PNG of {} x {} pixels that ends after {} bytes", width, height, bytes.size());
  return header;
}

Header read_tiff_as_picture(std::string_view bytes) {
  const TiffHeader header = read_tiff_header(bytes);
  check_is_picture(header);
  Header found{.format = Format::Tiff, .width = header.width, .height = header.height, .channels = header.channels};
  found.piece_bytes = header.piece_bytes;
  return found;
}

}  // namespace

bool is_tiff(std::string_view bytes) {
  return bytes.starts_with(std::string_view("II*\0", 4)) || bytes.starts_with(std::string_view("MM\0*", 4));
}

Header read_header(std::string_view bytes) {
  if (bytes.size() >= 3 && byte(bytes, 0) == 0xff && byte(bytes, 1) == 0xd8) return read_jpeg(bytes);
  if (bytes.starts_with(kPng)) return read_png(bytes);
  if (is_tiff(bytes)) return read_tiff_as_picture(bytes);
  if (bytes.empty()) throw Error::bad_input("the picture is empty");
  throw Error::bad_input("not a JPEG, PNG or TIFF: {} bytes that begin with {:02x} {:02x}", bytes.size(),
                         byte(bytes, 0), byte(bytes, std::min<std::size_t>(1, bytes.size() - 1)));
}

std::size_t library_bytes(const Header& header) {
  const auto width = static_cast<std::size_t>(header.width), height = static_cast<std::size_t>(header.height);
  if (header.format == Format::Pixels) return 4 * width;
  if (header.format == Format::Tiff) {
    TiffHeader tiff{.width = header.width, .height = header.height, .channels = header.channels};
    tiff.piece_bytes = header.piece_bytes;
    return tiff_library_bytes(tiff) + tiff.values() + tiff.piece_bytes + 4 * width;  // all pixels, and a piece of them
  }
  if (header.format == Format::Png) {
    constexpr std::size_t kInflate = 128 << 10;  // its window, tables and buffers
    // Rows as they are stored and unpacked, of up to 8 bytes a pixel, and what comes out of them: one, or all.
    return kInflate + 4 * 8 * (width + 16) + (header.whole ? (4 * width + 8) * height : 4 * width);
  }
  constexpr std::size_t kTables = 128 << 10;
  const std::size_t padded = width + 8 * static_cast<std::size_t>(header.most_across) + 64;
  const auto down = static_cast<std::size_t>(header.most_down), channels = static_cast<std::size_t>(header.channels);
  std::size_t bytes = kTables + channels * padded * (12 * down + 2);  // a row of units with rows above and below
  if (header.whole) bytes += blocks_of(header) * 128 + (height / 8 + 8) * channels * 64;
  return bytes;
}

}  // namespace ronde::data::picture
