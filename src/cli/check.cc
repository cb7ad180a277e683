#include "ronde/cli/check.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "ronde/base/text/format.h"
#include "ronde/bench/check/check.h"
#include "ronde/cli/training/torch_facts.h"
#include "ronde/device/device.h"

namespace ronde::cli {
namespace {

struct CheckFlags {
  std::optional<std::int64_t> begun;
  std::vector<std::string> command;
};

std::vector<std::pair<std::string, std::string>> versions() {
  std::vector<std::pair<std::string, std::string>> versions;
  if (const auto torch = torch_facts()) versions.emplace_back("libtorch", torch->version);
  if (const auto cuda = device::runtime_version(); !cuda.empty()) versions.emplace_back("CUDA", cuda);
  return versions;
}

int run_check(const CheckFlags& flags, const Context& context) {
  bench::CheckOptions options{.environment = context.environment,
                              .settings = context.settings,
                              .versions = versions(),
                              .command = flags.command};
  if (flags.begun) options.begun = std::chrono::nanoseconds(*flags.begun);
  return bench::check_rank(options);
}

}  // namespace

void add_check_rank(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* check = app.get_subcommand("check-rank");
  check->add_option("--begun", flags->begun, "Nanoseconds since 1970 at which the launcher started");
  check->add_option("COMMAND", flags->command, "Command that the job will run");
  check->callback(
      [flags, &command] { command = [flags](const Context& context) { return run_check(*flags, context); }; });
}

}  // namespace ronde::cli
