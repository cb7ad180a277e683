#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
#include "ronde/bench/data/data.h"
#include "ronde/cli/data/data.h"
#include "ronde/data/settings.h"

namespace ronde::cli {
namespace {

constexpr int kMostBatch = 1 << 20, kMostTurns = 1000;

// As they were typed: CLI11 would say less than we can.
struct Flags {
  std::string path, format, batch, turns, python, folder;
  bool compare = false, formats = false, json = false;
};

int parse_count(const std::string& flag, const std::string& text, int usual, int most) {
  if (text.empty()) return usual;
  const auto number = parse_number<int>(text);
  if (!number || *number < 1 || *number > most)
    throw Error::bad_input("{} {}: write a whole number from 1 to {}", flag, text, most);
  return *number;
}

data::SourceOptions source_of(const Flags& flags, const Context& context) {
  if (flags.path.empty()) {  // what is generated lies in an image folder
    auto source = data::source_options(context.settings, context.environment, "images");
    source.path.clear();
    return source;
  }
  const data::RecordsOptions records = records_options(flags.path, flags.format, context);
  auto source = data::source_options(context.settings, context.environment,
                                     records.format == "auto" ? data::guess_format(flags.path) : records.format);
  source.path = flags.path;
  source.picture.u8 = context.settings.get<"data.on_device">() == "on";  // as they travel to a GPU
  source.progress = records.progress;
  return source;
}

int bench(const Flags& flags, const Context& context) {
  data::PipelineOptions pipeline = data::pipeline_options(context.settings);
  pipeline.say = [log = context.log](const std::string& sentence) { log.warn("{}", sentence); };
  if (flags.formats && flags.path.empty()) throw Error::bad_input("--formats: missing folder or file of images");
  const bench::DataOptions options{.source = source_of(flags, context),
                                   .pipeline = pipeline,
                                   .batch = parse_count("--batch", flags.batch, 64, kMostBatch),
                                   .turns = parse_count("--turns", flags.turns, 5, kMostTurns),
                                   .compare = flags.compare,
                                   .python = flags.python,
                                   .log = context.log};
  const bench::Report report = flags.formats
                                   ? bench::run_data_formats(options, flags.folder.empty() ? "." : flags.folder)
                                   : bench::run_data(options);
  fmt::print("{}", flags.json ? json_text(bench::to_json(report)) + "\n" : bench::to_text(report));
  return 0;
}

}  // namespace

void add_data_bench(CLI::App& data, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<Flags>();
  CLI::App* bench_command = data.get_subcommand("bench");
  bench_command->add_option("PATH", flags->path, "Folder or file of samples; without it: generated photographs only");
  add_format_flag(*bench_command, flags->format);
  bench_command->add_option("--batch", flags->batch, "Samples per batch, default 64")->type_name("SAMPLES");
  bench_command->add_option("--turns", flags->turns, "Turns per contestant, default 5")->type_name("TURNS");
  bench_command->add_flag("--compare", flags->compare,
                          "Compare with torch's DataLoader and tf.data, if Python has them; for image folders");
  bench_command
      ->add_option("--python", flags->python,
                   "With --compare: Python in which they are installed; default: .peers, .venv or python3")
      ->type_name("PROGRAM");
  bench_command->add_flag("--formats", flags->formats,
                          "Measure only reading, from a copy in each format: cold and warm, in order and shuffled");
  bench_command->add_option("--dir", flags->folder, "With --formats: folder for the copies, default the current one")
      ->type_name("FOLDER");
  bench_command->add_flag("--json", flags->json, "Print JSON for scripts");
  bench_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return bench(*flags, context); }; });
}

}  // namespace ronde::cli
