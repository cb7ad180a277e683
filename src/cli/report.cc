#include "ronde/cli/report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/system/hardware.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/units.h"
#include "ronde/report/analysis.h"
#include "ronde/report/json/report_json.h"
#include "ronde/report/page/page.h"
#include "ronde/report/report.h"
#include "ronde/report/text/text.h"

namespace ronde::cli {
namespace {

struct ReportFlags {
  std::vector<std::string> folders;
  std::string steps, html, roofline, allreduce, memory = "1GiB";
  bool json = false, text = false, guide = false;
};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error::bad_input("'{}' cannot be opened", file.string());
  return (std::ostringstream() << in.rdbuf()).str();
}

std::uint64_t memory_of(const ReportFlags& flags) {
  try {
    return parse_bytes(flags.memory);
  } catch (const Error& error) {
    throw Error::bad_input("--memory: {}", error.message());
  }
}

// What the user names goes before what was measured on this machine; the report asks whether that is where the run was.
report::AnalysisOptions options_of(const ReportFlags& flags, const Context& context) {
  report::AnalysisOptions options{.steps = parse_step_window(flags.steps), .memory = memory_of(flags)};
  if (!flags.allreduce.empty()) {
    options.allreduce_json = content_of(flags.allreduce);
    options.allreduce_file = flags.allreduce;
  }
  if (!flags.roofline.empty()) {
    options.rates = read_rates(flags.roofline);
    return options;
  }
  const auto measured = default_roofline(context.environment);
  if (!measured.empty() && std::filesystem::exists(measured)) options.measured_here = read_rates(measured);
  return options;
}

void write_page(const std::filesystem::path& file, const report::Report& report) {
  std::ofstream out(file, std::ios::binary);
  out << report::html_page(report);
  if (!out.flush()) throw Error::system(errno, "'{}' cannot be written", file.string());
}

// Beside the traces, unless the user says where.
std::filesystem::path page_path(const ReportFlags& flags, const std::filesystem::path& source) {
  if (!flags.html.empty()) return flags.html;
  return (std::filesystem::is_directory(source) ? source : source.parent_path()) / "report.html";
}

int report_on(const ReportFlags& flags, const Context& context) {
  if (flags.json + flags.text + flags.guide > 1)
    throw Error::bad_input("--json, --text and --guide cannot be used together");
  if (flags.folders.empty())
    throw Error::bad_input("missing trace folder: the one that was passed to training with --trace-dir");
  const std::vector<std::filesystem::path> folders(flags.folders.begin(), flags.folders.end());
  const bool page = !flags.html.empty() || !(flags.json || flags.text || flags.guide);
  report::AnalysisOptions options = options_of(flags, context);
  options.timeline = page;
  const auto report = report::analyse(folders, options);
  const bool colour = Paint::choose(context.settings.get<"cli.color">(), stdout, context.environment).on();
  if (flags.json)
    fmt::print("{}\n", json_text(report::to_json(*report)));
  else
    fmt::print("{}", flags.guide ? report::guide_text(*report, colour) : report::text_report(*report, colour));
  if (!page) return 0;
  const auto file = page_path(flags, report->source);
  write_page(file, *report);
  fmt::print(stderr, "report: {}\n", file.string());
  return 0;
}

}  // namespace

void add_report(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* report_command = app.get_subcommand("report");
  report_command->add_option("FOLDER", flags->folders,
                             "Trace folder of a run; several runs: shows how they scale, or two side by side");
  report_command->add_option("--steps", flags->steps, "Only these steps, as 10..40")->type_name("STEPS");
  report_command
      ->add_option("--memory", flags->memory,
                   "Approximate memory limit of the analysis, default 1GiB; of longer traces, steps from the middle "
                   "are analysed; 0: no limit")
      ->type_name("SIZE");
  report_command->add_option("--html", flags->html, "File for the HTML page; default report.html next to the traces")
      ->type_name("FILE");
  report_command->add_flag("--text", flags->text, "Print the report, and write no page");
  report_command->add_flag("--json", flags->json, "Print everything as JSON for scripts");
  report_command->add_flag(
      "--guide", flags->guide,
      "Print the order in which to tune, where this run stands, and the next experiment as a command");
  report_command
      ->add_option("--roofline", flags->roofline,
                   "File that 'ronde bench roofline' wrote on the run's node; default ~/.cache/ronde/roofline.json, if "
                   "it is from the same processor")
      ->type_name("FILE");
  report_command
      ->add_option("--allreduce", flags->allreduce, "Output of 'ronde bench allreduce --json' on the run's ranks")
      ->type_name("FILE");
  report_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return report_on(*flags, context); }; });
}

}  // namespace ronde::cli
