#include "ronde/cli/data/data.h"

#include <CLI/CLI.hpp>

namespace ronde::cli {

void add_data(CLI::App& app, std::function<int(const Context&)>& command) {
  CLI::App* data = app.get_subcommand("data");
  data->require_subcommand(1);
  add_data_convert(*data, command);
  add_data_inspect(*data, command);
  add_data_pack(*data, command);
  add_data_verify(*data, command);
  for (CLI::App* below : data->get_subcommands({})) below->fallthrough();  // settings are flags of the program
}

}  // namespace ronde::cli
