// The program `ronde-bench`: benchmarks, of libtorch too.
#include <CLI/CLI.hpp>

#include "ronde/cli/bench.h"
#include "ronde/cli/check.h"
#include "ronde/cli/data/data.h"
#include "ronde/cli/program/programs.h"

namespace ronde::cli {
namespace {

void add_commands(CLI::App& app, const RunLine& /*line*/, std::function<int(const Context&)>& command) {
  add_bench(app, command);
  add_check_rank(app, command);
  CLI::App* data = app.get_subcommand("data");
  add_data_bench(*data, command);
  data->get_subcommand("bench")->fallthrough();  // settings are flags of the program
}

constexpr Program kProgram{"ronde-bench", add_commands};

}  // namespace

const Program& this_program() {
  return kProgram;
}

}  // namespace ronde::cli
