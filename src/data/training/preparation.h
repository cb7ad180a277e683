#pragma once

#include <cstdint>
#include <string_view>

namespace ronde::data {

class Source;

// What becomes of the samples of a source before a network sees them, and so which of the settings data.* count for
// them (train/session/unused_settings.h).
enum class Preparation : std::uint8_t {
  Drawn,     // pictures or numbers are generated: glyphs, random
  Text,      // texts are generated
  Digits,    // mnist: pictures of one size, normalised
  Shifted,   // cifar10: pictures of one size, shifted by a few pixels, mirrored and normalised
  Pictures,  // cropped, mirrored, turned, recoloured, blanked and normalised
  Bands,     // satellite pictures, by statistics of their own: mirrored, turned and blanked
  Numbers,   // taken as they are
};

// Of a source that was opened by that data.name. Reads a sample where it lies in files.
// FAILS WITH: as Records::read().
Preparation preparation_of(std::string_view name, const Source& source);

}  // namespace ronde::data
