#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ronde/data/formats/index_file.h"

namespace ronde::data::files {

// An index that belongs to files as they are now, in memory of its own.
struct Index {
  std::vector<Column> columns = {};
  std::vector<std::string> texts = {};
};

struct KeptIndexOptions {
  std::filesystem::path data = {};   // the file, folder or pattern that was named
  std::filesystem::path cache = {};  // RecordsOptions::cache
  IndexKind kind = {};
  std::string name = {};                      // "tfrecord": of the file in which it is kept
  std::size_t columns = 0;                    // that `make` makes
  std::function<Index()> make = {};           // looks through the files
  std::function<bool(const Index&)> is_sane;  // whether numbers that came from a file can be used
};

// The index of the files: the one that was kept (beside the data, or in the cache), if the files have the sizes and
// times that they had then, otherwise a new one, which is kept for the next time. Safe to call from any process.
// FAILS WITH: what `make` fails with; BadInput or System for files that cannot be looked at.
Index find_index(std::span<const std::string> files, const KeptIndexOptions& options);

}  // namespace ronde::data::files
