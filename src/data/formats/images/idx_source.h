#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ronde/data/io/file_bytes.h"
#include "ronde/data/samples/pictures.h"
#include "ronde/data/source.h"

namespace ronde::data::detail {

// What an IDX file of unsigned bytes holds: MNIST's format.
struct Idx {
  std::vector<std::int64_t> extents = {};
  Bytes values = {};
};

// Reads the header and checks that all of the values are there. `name` is what errors call the file.
// FAILS WITH: BadInput, naming the offset.
Idx parse_idx(Bytes file, std::size_t dimensions, const std::string& name);

// Two such files: pictures and their labels, each below `classes`. FAILS WITH: BadInput, System.
PictureSet read_idx(const std::filesystem::path& pictures, const std::filesystem::path& labels, std::int64_t classes);

std::unique_ptr<Source> open_mnist(const SourceOptions& options);

}  // namespace ronde::data::detail
