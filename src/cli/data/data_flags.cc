#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/cli/data/data.h"
#include "ronde/cli/program/progress_bar.h"
#include "ronde/data/settings.h"

namespace ronde::cli {

data::RecordsOptions records_options(const std::string& path, const std::string& format, const Context& context) {
  if (path.empty()) throw Error::bad_input("missing folder or file of samples");
  return {.path = path,
          .format = format.empty() ? "auto" : format,
          .image = context.settings.get<"data.image">(),
          .label = context.settings.get<"data.label">(),
          .cache = data::index_folder(context.environment),
          .progress = ProgressBar("scanning " + path, "files")};
}

void add_format_flag(CLI::App& command, std::string& format) {
  const auto names = data::record_formats();
  command.add_option("--format", format, "Format of the samples: " + join(names, ", ") + "; default: detected")
      ->type_name("FORMAT");
}

}  // namespace ronde::cli
