#include "ronde/cli/data.h"

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/cli/progress_bar.h"
#include "ronde/data/settings.h"

namespace ronde::cli {

data::RecordsOptions records_options(const std::string& path, const std::string& format, const Context& context) {
  if (path.empty()) throw Error::bad_input("which data? Name a folder or a file");
  return {.path = path,
          .format = format.empty() ? "auto" : format,
          .image = context.settings.get<"data.image">(),
          .label = context.settings.get<"data.label">(),
          .cache = data::index_folder(context.environment),
          .progress = ProgressBar("looking at " + path, "files")};
}

void add_format_flag(CLI::App& command, std::string& format) {
  const auto names = data::record_formats();
  command.add_option("--format", format, "What it is: " + join(names, ", ") + "; default: as it looks")
      ->type_name("FORMAT");
}

void add_data(CLI::App& app, std::function<int(const Context&)>& command) {
  CLI::App* data =
      app.add_subcommand("data", "Files of samples: what is in them, whether all is sound, and packs of them");
  data->require_subcommand(1);
  add_data_bench(*data, command);
  add_data_convert(*data, command);
  add_data_inspect(*data, command);
  add_data_pack(*data, command);
  add_data_verify(*data, command);
  for (CLI::App* below : data->get_subcommands({})) below->fallthrough();  // settings are flags of the program
}

}  // namespace ronde::cli
