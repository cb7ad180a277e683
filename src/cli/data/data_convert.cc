#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/data/data.h"
#include "ronde/cli/program/progress_bar.h"
#include "ronde/data/tools/convert.h"

namespace ronde::cli {
namespace {

struct ConvertFlags {
  std::string from, to, format, to_format;
  bool overwrite = false;
};

int convert(const ConvertFlags& flags, const Context& context) {
  if (flags.to.empty()) throw Error::bad_input("missing destination: ronde data convert SOURCE DEST --to FORMAT");
  const auto names = data::convert_formats();
  if (flags.to_format.empty()) throw Error::bad_input("missing --to FORMAT, which is one of {}", join(names, ", "));
  const ProgressBar bar("converting", "samples");
  const data::Converted done =
      data::convert(records_options(flags.from, flags.format, context), {.path = flags.to, .format = flags.to_format},
                    {.threads = static_cast<int>(context.settings.get<"data.threads">()),
                     .overwrite = flags.overwrite,
                     .progress = bar});
  bar.clear();
  if (done.went_on_at > 0) fmt::print("resumed after sample {}\n", done.went_on_at);
  fmt::print("{}: {} samples, {}\n", flags.to, done.samples, format_bytes(done.bytes));
  return 0;
}

}  // namespace

void add_data_convert(CLI::App& data, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* convert_command =
      data.add_subcommand("convert",
                          "Convert samples from one format to another. Never overwrites existing data. Resumes where "
                          "an earlier conversion was interrupted; to lmdb and hdf5, starts over");
  convert_command->add_option("SOURCE", flags->from, "Folder or file of samples, in any format");
  convert_command->add_option("DEST", flags->to, "Folder or file to create; it must not exist yet");
  convert_command->add_option("--to", flags->to_format, "Format of DEST: " + join(data::convert_formats(), ", "))
      ->type_name("FORMAT");
  convert_command->add_flag("--overwrite", flags->overwrite,
                            "Start over if an interrupted conversion to DEST had another source or format");
  add_format_flag(*convert_command, flags->format);
  convert_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return convert(*flags, context); }; });
}

}  // namespace ronde::cli
