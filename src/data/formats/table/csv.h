#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// CSV: a sample a row, with or without a line of names, parted by comma, semicolon or tab.
// The column class or label (RecordsOptions::label) is the class: numbers, or names, which are sorted and counted from
// 0. The column image, path, file or filename (RecordsOptions::image) names a file, from the folder of the CSV on,
// whose bytes are the picture. All columns of numbers together, in their order, are "features" (f32[n]); other text
// keeps its name. What a column holds shows in the first row. Without names, a column of text is the class if it is the
// first or the last, and "image" if the file is there. All rows are looked through when it is opened, so that a row
// with too few fields is found then.
std::unique_ptr<Records> open_csv(const RecordsOptions& options);
bool looks_like_csv(const std::filesystem::path& path);

}  // namespace ronde::data::files
