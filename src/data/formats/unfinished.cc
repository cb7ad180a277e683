#include "ronde/data/formats/unfinished.h"

#include "ronde/base/text/json_text.h"
#include "ronde/data/formats/json_reader.h"
#include "ronde/data/order/random.h"
#include "ronde/data/tools/inspect.h"

namespace ronde::data::files {

std::string describe_source(const Records& records) {
  std::uint64_t sizes = 0;
  for (std::int64_t i = 0; i < records.size(); ++i) sizes = mix(sizes + records.bytes(i) + 1);
  return fmt::format("{} samples of {} ({:016x})", records.size(), records.name(), sizes);
}

Error of_sample(const Records& records, std::int64_t index, const Error& error) {
  const std::string where = where_or_number(records, index);
  if (error.message().find(where) != std::string::npos) return error;
  return {error.kind(), fmt::format("{}: {}", where, error.message())};
}

std::string to_json(const Notes& notes) {
  nlohmann::ordered_json json{{"made", notes.made},
                              {"samples", notes.saved.samples},
                              {"bytes", notes.bytes},
                              {"files", nlohmann::json::array()}};
  for (const auto& file : notes.saved.files) json["files"].push_back({{"file", file.name}, {"bytes", file.bytes}});
  return json_text(json) + "\n";
}

Notes parse_notes(std::string_view text, const std::string& name) {
  const auto json = parse_json(text, name);
  const JsonReader reader(json, name);
  Notes notes{.made = reader.text("made")};
  notes.saved.samples = reader.count("samples");
  notes.bytes = static_cast<std::uint64_t>(reader.count("bytes"));
  for (const auto& one : reader.list("files")) {
    const JsonReader file(one, name);
    notes.saved.files.push_back({file.text("file"), static_cast<std::uint64_t>(file.count("bytes"))});
    const std::string& file_name = notes.saved.files.back().name;
    if (file_name.empty() || file_name.find('/') != std::string::npos || file_name.find('\0') != std::string::npos)
      throw file.wrong("file", "is not a valid file name");
  }
  return notes;
}

}  // namespace ronde::data::files
