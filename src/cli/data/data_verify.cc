#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/data/data.h"
#include "ronde/cli/program/progress_bar.h"
#include "ronde/data/tools/verify.h"

namespace ronde::cli {
namespace {

struct VerifyFlags {
  std::string path, format;
  bool json = false, decode = false;
};

nlohmann::ordered_json to_json(const data::Verification& found) {
  nlohmann::ordered_json json{{"format", found.format},
                              {"samples", found.samples},
                              {"bytes", found.bytes},
                              {"pictures", found.pictures},
                              {"bad", nlohmann::ordered_json::array()}};
  for (const auto& bad : found.bad)
    json["bad"].push_back({{"index", bad.index}, {"where", bad.where}, {"why", bad.why}});
  return json;
}

int verify(const VerifyFlags& flags, const Context& context) {
  const ProgressBar bar("verifying", "samples");
  const data::Verification found = data::verify({.records = records_options(flags.path, flags.format, context),
                                                 .threads = static_cast<int>(context.settings.get<"data.threads">()),
                                                 .decode = flags.decode,
                                                 .progress = bar});
  bar.clear();
  if (flags.json) {
    fmt::print("{}\n", json_text(to_json(found)));
    return found.bad.empty() ? 0 : 1;
  }
  for (const auto& bad : found.bad) {
    const bool named = bad.why.starts_with(bad.where.substr(0, bad.where.find(" at byte ")));
    fmt::print("bad: {}{}\n", named ? "" : bad.where + ": ", bad.why);
  }
  fmt::print("{} ({}): {}, {} read{}; {}\n", flags.path, found.format,
             counted(static_cast<std::size_t>(found.samples), "sample"), format_bytes(found.bytes),
             found.pictures == 0
                 ? ""
                 : fmt::format(", {} checked", counted(static_cast<std::size_t>(found.pictures), "picture")),
             found.bad.empty() ? "no errors found" : fmt::format("{} bad", found.bad.size()));
  return found.bad.empty() ? 0 : 1;
}

}  // namespace

void add_data_verify(CLI::App& data, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* verify_command = data.add_subcommand(
      "verify",
      "Read everything: checksums, image headers, classes. Lists everything that is bad; exit code 1 if anything is");
  verify_command->add_option("PATH", flags->path, "Folder or file of samples, in any format");
  add_format_flag(*verify_command, flags->format);
  verify_command->add_flag("--decode", flags->decode, "Decode every JPEG and PNG completely, not only its header");
  verify_command->add_flag("--json", flags->json, "Print JSON for scripts");
  verify_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return verify(*flags, context); }; });
}

}  // namespace ronde::cli
