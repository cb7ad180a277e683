#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// Image folders: a folder a class, FOLDER/dog/12.jpg, also FOLDER/dog/puppies/3.png; classes count in the order of
// their names. Samples: "image" (the bytes of the file), "class", "key" ("dog/12.jpg").
// The first opening looks at every file and keeps an index, FOLDER/.ronde-index, or in options.cache where the folder
// cannot be written; later ones compare the folders' times with it. A damaged or stale index is made anew.
// FAILS WITH: BadInput that names the folder: no class folders, one without pictures, no permission; System.
std::unique_ptr<Records> open_images(const RecordsOptions& options);

// A folder with folders in it.
bool looks_like_images(const std::filesystem::path& path);

}  // namespace ronde::data::files
