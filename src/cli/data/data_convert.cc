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
  if (flags.to.empty()) throw Error::bad_input("where to? 'ronde data convert SOURCE DEST --to FORMAT'");
  const auto names = data::convert_formats();
  if (flags.to_format.empty()) throw Error::bad_input("--to says which format: {}", join(names, ", "));
  const ProgressBar bar("converting", "samples");
  const data::Converted done =
      data::convert(records_options(flags.from, flags.format, context), {.path = flags.to, .format = flags.to_format},
                    {.threads = static_cast<int>(context.settings.get<"data.threads">()),
                     .overwrite = flags.overwrite,
                     .progress = bar});
  bar.clear();
  if (done.went_on_at > 0) fmt::print("went on behind sample {}\n", done.went_on_at);
  fmt::print("{}: {} samples, {}\n", flags.to, done.samples, format_bytes(done.bytes));
  return 0;
}

}  // namespace

void add_data_convert(CLI::App& data, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* convert_command =
      data.add_subcommand("convert",
                          "Writes samples of one format as another; what is there is never written over. Goes on where "
                          "an earlier one was interrupted; to lmdb and hdf5, begins anew");
  convert_command->add_option("SOURCE", flags->from, "Folder or file of samples, of any format");
  convert_command->add_option("DEST", flags->to, "What to make; nothing must be there");
  convert_command->add_option("--to", flags->to_format, "Its format: " + join(data::convert_formats(), ", "))
      ->type_name("FORMAT");
  convert_command->add_flag("--overwrite", flags->overwrite,
                            "Begin anew where another source or format was interrupted on its way to DEST");
  add_format_flag(*convert_command, flags->format);
  convert_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return convert(*flags, context); }; });
}

}  // namespace ronde::cli
