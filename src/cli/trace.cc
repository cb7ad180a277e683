#include "ronde/cli/trace.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/math/step_window.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/program/progress_bar.h"
#include "ronde/report/export/merge.h"

namespace ronde::cli {
namespace {

namespace exporting = report::exporting;

struct MergeFlags {
  std::string source, output, format = "perfetto", steps;
};

std::string next_of(exporting::Format format) {
  switch (format) {
    case exporting::Format::Perfetto: return "open it at https://ui.perfetto.dev";
    case exporting::Format::Chrome: return "open it at chrome://tracing or https://ui.perfetto.dev";
    case exporting::Format::Otf2: break;
  }
  return "open traces.otf2 in it with Vampir";
}

int merge(const MergeFlags& flags, const Context& context) {
  if (flags.source.empty()) throw Error::bad_input("missing trace folder: ronde trace merge FOLDER");
  const ProgressBar bar("merging", "MB");
  const exporting::Format format = exporting::parse_format(flags.format);
  const exporting::Merged merged = exporting::merge({.source = flags.source,
                                                     .output = flags.output,
                                                     .format = format,
                                                     .steps = parse_step_window(flags.steps),
                                                     .progress = bar});
  bar.clear();
  for (const std::string& problem : merged.problems) context.log.warn("{}", problem);
  fmt::print("{}: {} ranks, {}; {}\n", merged.output.string(), merged.ranks, format_bytes(merged.bytes),
             next_of(format));
  return 0;
}

}  // namespace

void add_trace(CLI::App& app, std::function<int(const Context&)>& command) {
  CLI::App* trace = app.get_subcommand("trace");
  trace->callback([&command, trace] {
    if (trace->get_subcommands().empty())
      command = [trace](const Context&) {
        fmt::print("{}", trace->help());
        return 0;
      };
  });
  auto flags = std::make_shared<MergeFlags>();
  CLI::App* merge_command = trace->add_subcommand(
      "merge",
      "Merge the traces of all ranks into one file with one clock, for ui.perfetto.dev, chrome://tracing or Vampir");
  merge_command->add_option("DIR", flags->source, "Folder of the traces, or one trace file");
  merge_command
      ->add_option("-o,--output", flags->output,
                   "File or folder to write; default merged.perfetto-trace, merged.json or merged-otf2 in DIR")
      ->type_name("FILE");
  merge_command->add_option("--format", flags->format, "One of " + join(exporting::format_names(), ", "))
      ->type_name("FORMAT")
      ->capture_default_str();
  merge_command->add_option("--steps", flags->steps, "Only these steps: 100..120, 100.. or ..120")->type_name("A..B");
  merge_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return merge(*flags, context); }; });
  merge_command->fallthrough();
}

}  // namespace ronde::cli
