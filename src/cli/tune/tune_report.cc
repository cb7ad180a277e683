#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/cli/tune/tune.h"
#include "ronde/tune/output/overview.h"
#include "ronde/tune/page/search_page.h"

namespace ronde::cli {
namespace {

struct ReportFlags {
  std::string folder, output;
};

int write_report(const ReportFlags& flags) {
  const tune::Search search = search_in(flags.folder, "report");
  const auto name = std::filesystem::weakly_canonical(flags.folder).filename().string();
  const std::filesystem::path file =
      flags.output.empty() ? std::filesystem::path(flags.folder) / "search.html" : std::filesystem::path(flags.output);
  std::ofstream out(file, std::ios::binary);
  out << tune::search_page(search, name);
  if (!out.flush()) throw Error::system(errno, "'{}' cannot be written", file.string());
  fmt::print("{}", tune::overview(search, {}, 10));
  if (const std::string mattered = tune::what_mattered(tune::page_data(search, name)); !mattered.empty())
    fmt::print("{}\n", mattered);
  fmt::print("report: {}\n", file.string());
  return 0;
}

}  // namespace

void add_tune_report(CLI::App& tune, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* report_command =
      tune.add_subcommand("report", "Write a page about a search: history, curves, what mattered");
  report_command->add_option("FOLDER", flags->folder, "Folder of the search; it may still be running");
  report_command->add_option("--output", flags->output, "File to write; default: search.html in the folder")
      ->type_name("FILE");
  report_command->callback([&command, flags] { command = [flags](const Context&) { return write_report(*flags); }; });
  report_command->fallthrough();
}

}  // namespace ronde::cli
