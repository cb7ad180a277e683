#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include "ronde/data/records.h"

namespace ronde::data::files {

// The bands of Sentinel-2 that BigEarthNet has, by wavelength, and how many pixels a side a patch has of each: 10, 20
// or 60 metres a pixel.
struct EarthBand {
  std::string_view name;
  int side;
};
inline constexpr std::array<EarthBand, 12> kEarthBands = {{{"B01", 20},
                                                           {"B02", 120},
                                                           {"B03", 120},
                                                           {"B04", 120},
                                                           {"B05", 60},
                                                           {"B06", 60},
                                                           {"B07", 60},
                                                           {"B08", 120},
                                                           {"B8A", 60},
                                                           {"B09", 20},
                                                           {"B11", 60},
                                                           {"B12", 60}}};
inline constexpr std::size_t kEarthLabels = 43;

// BigEarthNet as it is published: a folder for each patch with a GeoTIFF for each band (PATCH_B01.tif) and a JSON
// (PATCH_labels_metadata.json) that lists its labels. A sample has the bytes of each band by its name ("B01"), "labels"
// f32[43] and "key" (the patch's name). classes(): the 43 names of the CORINE land cover, sorted.
// FAILS WITH: BadInput: no patches; read(): a band that is missing or too large, a JSON that is none, an unknown label.
std::unique_ptr<Records> open_bigearthnet(const RecordsOptions& options);

// A folder whose first folder has such files.
bool looks_like_bigearthnet(const std::filesystem::path& path);

}  // namespace ronde::data::files
