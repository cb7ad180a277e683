#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "ronde/data/records.h"
#include "ronde/data/tools/record_writer.h"

// What a format of files is: one file in entries/ says all there is to know about it, and CMake makes the list.
namespace ronde::data {

struct FormatEntry {
  std::string_view name;
  // FAILS WITH: as open_records().
  std::unique_ptr<Records> (*open)(const RecordsOptions& options) = nullptr;
  // By the name and the first bytes of a path.
  bool (*looks_like)(const std::filesystem::path& path) = nullptr;
  // Writes at options.path, where nothing is, and leaves half of it behind when it fails: make_writer() gives it a name
  // of its own and cleans up. nullptr: 'ronde data convert' does not write it.
  std::unique_ptr<RecordWriter> (*make_writer)(const WriterOptions& options) = nullptr;
  // What data.target may be in a training on such files; empty: data.name does not know the format.
  std::string_view targets = "class, labels, input";
};

// In the order in which they are asked what a path looks like, which is that of CMakeLists.txt. Made anew by each call.
std::vector<FormatEntry> format_entries();

}  // namespace ronde::data
