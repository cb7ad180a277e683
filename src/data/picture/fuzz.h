#pragma once

#include <string_view>

namespace ronde::data::picture {

// For fuzzing: whatever bytes come, decoding them ends in a picture or in an Error, which is swallowed.
void try_picture(std::string_view bytes);  // JPEG, PNG: grey and in colours, several crops
void try_tiff(std::string_view bytes);

}  // namespace ronde::data::picture
