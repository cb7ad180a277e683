#include "ronde/data/picture/tiff.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <tiffio.h>

#include "ronde/base/error.h"

namespace ronde::data::picture {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 28;
constexpr tmsize_t kMostAtATime = tmsize_t{1} << 30;  // bytes that libtiff may take at once

// A file in memory, as libtiff asks for it. What it complains of first is kept rather than printed.
struct Memory {
  std::string_view bytes;
  std::size_t at = 0;
  std::string complaint = {};

  static Memory& of(thandle_t handle) { return *static_cast<Memory*>(handle); }
  static tmsize_t read(thandle_t handle, void* into, tmsize_t count) {
    Memory& memory = of(handle);
    const std::size_t left = memory.bytes.size() - std::min(memory.at, memory.bytes.size());
    const std::size_t taken = std::min(left, static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
    if (taken > 0) std::memcpy(into, memory.bytes.data() + memory.at, taken);
    memory.at += taken;
    return static_cast<tmsize_t>(taken);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int from) {
    Memory& memory = of(handle);
    memory.at = offset + (from == SEEK_CUR ? memory.at : from == SEEK_END ? memory.bytes.size() : 0);
    return memory.at;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).bytes.size(); }
  static int complain(TIFF*, void* memory, const char*, const char* format, va_list arguments) {
    char text[200];
    std::vsnprintf(text, sizeof text, format, arguments);
    auto& complaint = static_cast<Memory*>(memory)->complaint;
    if (complaint.empty()) complaint = text;
    return 1;
  }
  static int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

  [[noreturn]] void fail() const {
    throw Error::bad_input("a damaged TIFF of {} bytes: {}", bytes.size(),
                           complaint.empty() ? "data is missing" : complaint);
  }
};

struct Closer {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};
using Open = std::unique_ptr<TIFF, Closer>;

Open open(Memory& memory) {
  const std::unique_ptr<TIFFOpenOptions, Closer> options(TIFFOpenOptionsAlloc());
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostAtATime);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), Memory::complain, &memory);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), Memory::ignore,
                                       nullptr);  // tags of GeoTIFF, that it does not know
  Open tiff(TIFFClientOpenExt("TIFF", "rm", &memory, Memory::read, Memory::write, Memory::seek, Memory::close,
                              Memory::size, nullptr, nullptr, options.get()));
  if (!tiff) memory.fail();
  return tiff;
}

Type type_in(TIFF* tiff) {
  std::uint16_t bits = 1, format = SAMPLEFORMAT_UINT;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
  if (bits == 8 && format == SAMPLEFORMAT_UINT) return Type::U8;
  if (bits == 16 && format == SAMPLEFORMAT_UINT) return Type::U16;
  if (bits == 16 && format == SAMPLEFORMAT_INT) return Type::I16;
  if (bits == 32 && format == SAMPLEFORMAT_IEEEFP) return Type::F32;
  throw Error::bad_input("a TIFF of {} bits per value, in format {}: only u8, u16, i16 and f32 can be read", bits,
                         format);
}

TiffHeader::Colours colours_in(TIFF* tiff, int channels, Type type) {
  std::uint16_t meaning = 0;
  if (type != Type::U8 || TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &meaning) != 1) return TiffHeader::Colours::None;
  if (meaning == PHOTOMETRIC_MINISBLACK && channels == 1) return TiffHeader::Colours::Black;
  if (meaning == PHOTOMETRIC_MINISWHITE && channels == 1) return TiffHeader::Colours::White;
  if (meaning == PHOTOMETRIC_RGB && (channels == 3 || channels == 4)) return TiffHeader::Colours::Red;
  return TiffHeader::Colours::None;
}

TiffHeader size_in(TIFF* tiff) {
  std::uint32_t width = 0, height = 0;
  std::uint16_t channels = 1;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &channels);
  constexpr std::uint32_t kMost = 1 << 20;
  if (width < 1 || height < 1 || width > kMost || height > kMost || channels < 1 || channels > 1024 ||
      std::size_t{width} * height * channels > kMostValues)
    throw Error::bad_input("a TIFF of {} x {} pixels and {} channels: too large, the limit is {} values", width, height,
                           channels, kMostValues);
  TiffHeader header{.width = static_cast<int>(width), .height = static_cast<int>(height), .channels = channels};
  header.type = type_in(tiff);
  header.colours = colours_in(tiff, channels, header.type);
  return header;
}

// Where a piece of a TIFF goes: a strip or a tile, of one channel or of all.
struct Piece {
  int left, top, width, height;  // of it; what lies outside the picture is dropped
  int first_channel, channels;
};

template <class T>
void place(const TiffHeader& header, const Piece& piece, const std::uint8_t* bytes, std::vector<float>& into) {
  const int right = std::min(piece.left + piece.width, header.width),
            bottom = std::min(piece.top + piece.height, header.height);
  for (int y = piece.top; y < bottom; ++y)
    for (int x = piece.left; x < right; ++x)
      for (int c = 0; c < piece.channels; ++c) {
        const int number = ((y - piece.top) * piece.width + x - piece.left) * piece.channels + c;
        T value{};
        std::memcpy(&value, bytes + static_cast<std::size_t>(number) * sizeof(T), sizeof(T));
        const std::size_t at =
            (static_cast<std::size_t>(piece.first_channel + c) * static_cast<std::size_t>(header.height) +
             static_cast<std::size_t>(y)) *
                static_cast<std::size_t>(header.width) +
            static_cast<std::size_t>(x);
        into[at] = static_cast<float>(value);
      }
}

void place_any(const TiffHeader& header, const Piece& piece, const std::uint8_t* bytes, std::vector<float>& into) {
  switch (header.type) {
    case Type::U8: return place<std::uint8_t>(header, piece, bytes, into);
    case Type::U16: return place<std::uint16_t>(header, piece, bytes, into);
    case Type::I16: return place<std::int16_t>(header, piece, bytes, into);
    default: return place<float>(header, piece, bytes, into);
  }
}

// Bytes, all channels of a pixel together.
void place_pixels(const TiffHeader& header, const Piece& piece, const std::uint8_t* bytes,
                  std::vector<std::uint8_t>& into) {
  const auto wide = static_cast<std::size_t>(header.width), stored = static_cast<std::size_t>(header.channels),
             together = static_cast<std::size_t>(piece.channels);
  const auto columns = static_cast<std::size_t>(std::min(piece.width, header.width - piece.left));
  const int bottom = std::min(piece.top + piece.height, header.height);
  for (int y = piece.top; y < bottom; ++y) {
    const std::uint8_t* from =
        bytes + static_cast<std::size_t>(y - piece.top) * static_cast<std::size_t>(piece.width) * together;
    std::uint8_t* to = into.data() +
                       (static_cast<std::size_t>(y) * wide + static_cast<std::size_t>(piece.left)) * stored +
                       static_cast<std::size_t>(piece.first_channel);
    if (together == stored)
      std::memcpy(to, from, columns * stored);
    else
      for (std::size_t x = 0; x < columns; ++x) to[x * stored] = from[x];
  }
}

// All pieces of it, in the order of the file.
class Pieces {
 public:
  Pieces(TIFF* tiff, const TiffHeader& header) : tiff_(tiff), header_(header), tiled_(TIFFIsTiled(tiff) != 0) {
    std::uint16_t arranged = PLANARCONFIG_CONTIG;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &arranged);
    together_ = arranged == PLANARCONFIG_CONTIG;
    std::uint32_t across = static_cast<std::uint32_t>(header.width), down = 0;
    if (tiled_) {
      TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &across);
      TIFFGetField(tiff, TIFFTAG_TILELENGTH, &down);
    } else {
      TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &down);
      down = std::min(down, static_cast<std::uint32_t>(header.height));  // "all" is a huge number
    }
    constexpr std::uint32_t kMost = 1 << 20;
    if (across < 1 || down < 1 || across > kMost || down > kMost || bytes_of(across, down) > kMostValues)
      throw Error::bad_input("a TIFF in tiles of {} x {} pixels", across, down);
    across_ = static_cast<int>(across);
    down_ = static_cast<int>(down);
  }

  std::size_t bytes() const { return bytes_of(static_cast<std::uint32_t>(across_), static_cast<std::uint32_t>(down_)); }

  // Gives each piece to `place`. Whether every one could be read.
  template <class Place>
  bool read(std::vector<std::uint8_t>& memory, const Place& place) const {
    memory.resize(bytes());
    const int columns = (header_.width + across_ - 1) / across_, rows = (header_.height + down_ - 1) / down_;
    std::uint32_t number = 0;
    for (int c = 0; c < (together_ ? 1 : header_.channels); ++c)
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column, ++number) {
          const Piece piece{column * across_, row * down_, across_, down_, c, together_ ? header_.channels : 1};
          if (!read_piece(number, piece, memory)) return false;
          place(piece, memory.data());
        }
    return true;
  }

 private:
  std::size_t bytes_of(std::uint32_t across, std::uint32_t down) const {
    return std::size_t{across} * down * size_of(header_.type) *
           static_cast<std::size_t>(together_ ? header_.channels : 1);
  }
  // A tile is whole; of the last strip only the rows that the picture still has.
  bool read_piece(std::uint32_t number, const Piece& piece, std::vector<std::uint8_t>& memory) const {
    const int rows = tiled_ ? down_ : std::min(down_, header_.height - piece.top);
    const auto wanted =
        static_cast<tmsize_t>(bytes_of(static_cast<std::uint32_t>(across_), static_cast<std::uint32_t>(rows)));
    const tmsize_t got = tiled_ ? TIFFReadEncodedTile(tiff_, number, memory.data(), wanted)
                                : TIFFReadEncodedStrip(tiff_, number, memory.data(), wanted);
    return got == wanted;
  }

  TIFF* tiff_;
  const TiffHeader& header_;
  bool tiled_, together_ = true;
  int across_ = 0, down_ = 0;
};

TiffHeader header_in(TIFF* tiff) {
  TiffHeader header = size_in(tiff);
  header.piece_bytes = Pieces(tiff, header).bytes();
  return header;
}

}  // namespace

TiffHeader read_tiff_header(std::string_view bytes) {
  Memory memory{bytes};
  return header_in(open(memory).get());
}

TiffHeader read_tiff(std::string_view bytes, std::vector<float>& into, std::vector<std::uint8_t>& strip) {
  Memory memory{bytes};
  const Open tiff = open(memory);
  const TiffHeader header = header_in(tiff.get());
  const Pieces pieces(tiff.get(), header);
  into.resize(header.values());
  const auto place = [&](const Piece& piece, const std::uint8_t* numbers) { place_any(header, piece, numbers, into); };
  if (!pieces.read(strip, place)) memory.fail();
  return header;
}

TiffHeader read_tiff_picture(std::string_view bytes, std::vector<std::uint8_t>& into,
                             std::vector<std::uint8_t>& strip) {
  Memory memory{bytes};
  const Open tiff = open(memory);
  const TiffHeader header = header_in(tiff.get());
  check_is_picture(header);
  const Pieces pieces(tiff.get(), header);
  into.resize(header.values());
  const auto place = [&](const Piece& piece, const std::uint8_t* pixels) { place_pixels(header, piece, pixels, into); };
  if (!pieces.read(strip, place)) memory.fail();
  if (header.colours == TiffHeader::Colours::White)
    for (std::uint8_t& pixel : into) pixel = static_cast<std::uint8_t>(255 - pixel);
  return header;
}

void check_is_picture(const TiffHeader& header) {
  if (header.colours == TiffHeader::Colours::None)
    throw Error::bad_input("a TIFF of {} {} values per pixel: pictures must be grey or RGB, of 8 bits", header.channels,
                           to_text(header.type, {}));
}

bool can_read_tiff() {
  return true;
}

std::size_t tiff_library_bytes(const TiffHeader& header) {
  const std::size_t all = header.values() * size_of(header.type);
  return (std::size_t{64} << 10) + 2 * std::max(all, header.piece_bytes);  // directories; a piece, packed and not
}

}  // namespace ronde::data::picture
