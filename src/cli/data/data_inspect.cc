#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/data/data.h"
#include "ronde/data/tools/inspect.h"

namespace ronde::cli {
namespace {

struct InspectFlags {
  std::string path, format;
  bool json = false;
};

nlohmann::ordered_json to_json(const data::Inspection& found) {
  nlohmann::ordered_json json{{"path", found.path},       {"format", found.format}, {"samples", found.samples},
                              {"classes", found.classes}, {"files", found.files},   {"chunks", found.chunks},
                              {"read", found.read}};
  json["arrays"] = nlohmann::ordered_json::array();
  for (const auto& array : found.arrays)
    json["arrays"].push_back({{"name", array.name}, {"type", array.type}, {"samples", array.samples}});
  json["bytes"] = {{"min", found.sizes.least}, {"median", found.sizes.median}, {"max", found.sizes.most}};
  json["keys"] = found.keys;
  json["bad"] = nlohmann::ordered_json::array();
  for (const auto& bad : found.bad) json["bad"].push_back({{"where", bad.where}, {"why", bad.why}});
  return json;
}

std::string some_of(std::span<const std::string> names) {
  constexpr std::size_t kMost = 8;
  const std::string text = join(names.first(std::min(kMost, names.size())), ", ");
  return names.size() > kMost ? text + ", ..." : text;
}

void print(const data::Inspection& found) {
  Table table({{""}, {""}});
  table.add({"format", found.format});
  table.add({"samples", std::to_string(found.samples)});
  if (!found.classes.empty())
    table.add({"classes", fmt::format("{}: {}", found.classes.size(), some_of(found.classes))});
  if (found.files > 0) table.add({"files", std::to_string(found.files)});
  if (found.chunks > 1) table.add({"chunks", std::to_string(found.chunks)});
  if (!found.keys.empty()) table.add({"first keys", some_of(found.keys)});
  if (found.read > 0)
    table.add(
        {"sample size", fmt::format("{} to {}, median {} (of {} read)", format_bytes(found.sizes.least),
                                    format_bytes(found.sizes.most), format_bytes(found.sizes.median), found.read)});
  for (const auto& array : found.arrays)
    table.add({"  " + array.name, array.samples == found.read
                                      ? array.type
                                      : fmt::format("{} (in {} of {})", array.type, array.samples, found.read)});
  const std::string text = table.text();
  fmt::print("{}\n{}", found.path, text.substr(text.find('\n') + 1));  // there is nothing in the titles
  for (const auto& bad : found.bad) fmt::print("bad: {}: {}\n", bad.where, bad.why);
}

int inspect(const InspectFlags& flags, const Context& context) {
  const data::Inspection found = data::inspect(records_options(flags.path, flags.format, context));
  if (flags.json)
    fmt::print("{}\n", json_text(to_json(found)));
  else
    print(found);
  return found.bad.empty() ? 0 : 1;
}

}  // namespace

void add_data_inspect(CLI::App& data, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* inspect_command = data.add_subcommand(
      "inspect", "Show what data contains: samples, classes, arrays and their sizes, from a part of the samples");
  inspect_command->add_option("PATH", flags->path, "Folder or file of samples, in any format");
  add_format_flag(*inspect_command, flags->format);
  inspect_command->add_flag("--json", flags->json, "Print JSON for scripts");
  inspect_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return inspect(*flags, context); }; });
}

}  // namespace ronde::cli
