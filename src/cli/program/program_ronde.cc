// The program `ronde`: everything that needs no libtorch.
#include "ronde/cli/data/data.h"
#include "ronde/cli/program/programs.h"
#include "ronde/cli/report.h"
#include "ronde/cli/run/run.h"
#include "ronde/cli/run/stage.h"
#include "ronde/cli/run/start_rank.h"
#include "ronde/cli/trace.h"
#include "ronde/cli/tune/tune.h"

namespace ronde::cli {
namespace {

void add_commands(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command) {
  add_run(app, line, command);
  add_start_rank(app, line, command);
  add_stage(app, command);
  add_report(app, command);
  add_trace(app, command);
  add_data(app, command);
  add_tune(app, line, command);
}

constexpr Program kProgram{"ronde", add_commands};

}  // namespace

const Program& this_program() {
  return kProgram;
}

}  // namespace ronde::cli
