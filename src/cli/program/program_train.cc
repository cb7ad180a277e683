// The program `ronde-train`: what computes with libtorch, and `ronde info`, which tells its version.
#include "ronde/cli/info.h"
#include "ronde/cli/program/programs.h"
#include "ronde/cli/training/train.h"

namespace ronde::cli {
namespace {

void add_commands(CLI::App& app, const RunLine& /*line*/, std::function<int(const Context&)>& command) {
  add_info(app, command);
  add_train(app, command);
}

constexpr Program kProgram{"ronde-train", add_commands};

}  // namespace

const Program& this_program() {
  return kProgram;
}

}  // namespace ronde::cli
