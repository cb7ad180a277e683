#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// NumPy's files: x.npy alone, or a folder of them, one an array, whose first dimension counts the samples of all.
// Their names say what they are, as array_name() in naming.h has it; u8 with rows and columns can be pictures. Names of
// classes come from classes.txt. Files are mapped, and samples are views of them.
std::unique_ptr<Records> open_npy(const RecordsOptions& options);
bool looks_like_npy(const std::filesystem::path& path);

}  // namespace ronde::data::files
