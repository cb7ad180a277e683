#include "ronde/data/records.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/format_entry.h"

namespace ronde::data {

namespace fs = std::filesystem;

std::string Records::key(std::int64_t index) const {
  return std::to_string(index);
}

std::vector<Range> Records::chunks() const {
  return {Range{0, size()}};
}

std::vector<std::string> record_formats() {
  std::vector<std::string> names;
  for (const FormatEntry& format : format_entries()) names.emplace_back(format.name);
  std::ranges::sort(names);
  return names;
}

std::string guess_format(const fs::path& path) {
  for (const FormatEntry& format : format_entries())
    if (format.looks_like(path)) return std::string(format.name);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw Error::bad_input("{} does not exist", path.string());
  throw Error::bad_input("{}: unrecognized data format ({})", path.string(), join(record_formats(), ", "));
}

std::unique_ptr<Records> open_records(const RecordsOptions& options) {
  if (options.path.empty()) throw Error::bad_input("missing data: give a file or a folder");
  const std::string name = options.format == "auto" ? guess_format(options.path) : options.format;
  for (const FormatEntry& format : format_entries())
    if (format.name == name) return format.open(options);
  const auto names = record_formats();
  const auto meant = nearest(name, names);
  throw Error::bad_input("unknown file format '{}': {}", name,
                         meant ? fmt::format("did you mean '{}'?", *meant) : "choose one of " + join(names, ", "));
}

}  // namespace ronde::data
