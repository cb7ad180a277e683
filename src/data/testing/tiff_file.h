#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include <tiffio.h>

#include "ronde/data/formats/images/bigearthnet.h"

namespace ronde::data {

struct TiffStyle {
  std::uint16_t compression = COMPRESSION_NONE, planes = PLANARCONFIG_CONTIG, channels = 1;
  std::uint32_t tile = 0;  // pixels a side; 0: strips
  std::uint32_t rows = 16;
  std::uint16_t colours = PHOTOMETRIC_MINISBLACK;
};

// Numbers of a picture, all channels of a pixel together (or, by its style, channel after channel).
template <class T>
void write_tiff(const std::filesystem::path& path, std::uint32_t width, std::uint32_t height, std::vector<T> values,
                const TiffStyle& style = {}) {
  TIFF* tiff = TIFFOpen(path.c_str(), "w");
  constexpr auto kFormat = std::is_floating_point_v<T> ? SAMPLEFORMAT_IEEEFP
                           : std::is_signed_v<T>       ? SAMPLEFORMAT_INT
                                                       : SAMPLEFORMAT_UINT;
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8 * static_cast<int>(sizeof(T)));
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, kFormat);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, style.channels);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, style.colours);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, style.planes);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, style.compression);
  const std::uint32_t together = style.planes == PLANARCONFIG_CONTIG ? style.channels : 1u;
  const std::uint16_t planes = style.planes == PLANARCONFIG_CONTIG ? std::uint16_t{1} : style.channels;
  if (style.tile > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, style.tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, style.tile);
    std::vector<T> tile(std::size_t{style.tile} * style.tile * together);
    for (std::uint32_t top = 0; top < height; top += style.tile)
      for (std::uint32_t left = 0; left < width; left += style.tile) {
        for (std::uint32_t y = 0; y < style.tile && top + y < height; ++y)
          for (std::uint32_t x = 0; x < style.tile * together && left * together + x < width * together; ++x)
            tile[std::size_t{y} * style.tile * together + x] =
                values[(std::size_t{top} + y) * width * together + left * together + x];
        TIFFWriteTile(tiff, tile.data(), left, top, 0, 0);
      }
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, style.rows);
    for (std::uint16_t plane = 0; plane < planes; ++plane)
      for (std::uint32_t y = 0; y < height; ++y)
        TIFFWriteScanline(tiff, values.data() + (std::size_t{plane} * height + y) * width * together, y, plane);
  }
  TIFFClose(tiff);
}

// A tiny BigEarthNet: patches of all twelve bands, of which patch p's band b has numbers around 1000 * b + p, and
// labels.
inline void write_bigearthnet(const std::filesystem::path& folder, int patches) {
  for (int p = 0; p < patches; ++p) {
    const std::string name = "S2A_patch_" + std::to_string(p);
    std::filesystem::create_directories(folder / name);
    int number = 0;
    for (const auto& band : files::kEarthBands) {
      std::vector<std::uint16_t> values;
      for (int i = 0; i < band.side * band.side; ++i)
        values.push_back(static_cast<std::uint16_t>(1000 * number + p + i % band.side));
      write_tiff(folder / name / (name + "_" + std::string(band.name) + ".tif"), static_cast<std::uint32_t>(band.side),
                 static_cast<std::uint32_t>(band.side), values);
      ++number;
    }
    std::ofstream(folder / name / (name + "_labels_metadata.json"))
        << R"({"labels": ["Pastures", "Sea and ocean"], "acquisition_date": "2017-06-13", "projection": "EPSG:32629"})";
  }
}

}  // namespace ronde::data
