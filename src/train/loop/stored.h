#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace ronde::train {

// Bytes of files a sample, of data that lies in a folder (or is one file) and has so many samples in all. A folder with
// very many files is not read to the end: they are taken for one a sample. 0 where there is no such folder, or `path`
// is empty: what is generated is not read.
double stored_bytes(const std::filesystem::path& path, std::int64_t samples, std::size_t most_files = 10'000);

}  // namespace ronde::train
