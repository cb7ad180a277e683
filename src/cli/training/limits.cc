#include "ronde/cli/training/limits.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/system/hardware.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"
#include "ronde/train/limits.h"
#include "ronde/train/limits/limits_text.h"
#include "ronde/train/recipes.h"

namespace ronde::cli {
namespace {

constexpr int kMostRanks = 1'000'000;

// As they were typed: CLI11 would say less than we can.
struct LimitsFlags {
  std::string recipe, ranks, hardware, roofline, memory, network;
  bool json = false, list = false;
};

int list_hardware() {
  for (const Hardware& one : all_hardware()) fmt::print("{}\n", one.name);
  return 0;
}

int ranks_of(const std::string& text) {
  if (text.empty()) return 1;
  const auto number = parse_number<int>(text);
  if (!number || *number < 1 || *number > kMostRanks)
    throw Error::bad_input("-n {}: write a whole number from 1 to {}", text, kMostRanks);
  return *number;
}

std::uint64_t memory_of(const std::string& text) {
  if (text.empty()) return 0;
  try {
    const std::uint64_t bytes = parse_bytes(text);
    if (bytes > 0) return bytes;
  } catch (const Error& error) {
    throw Error::bad_input("--memory {}: {}", text, error.message());
  }
  throw Error::bad_input("--memory {}: the size must be more than 0", text);
}

double network_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto number = parse_number<double>(text);
  if (!number || !(*number > 0) || *number > 1e6)
    throw Error::bad_input("--network {}: write the Gbit/s per rank between nodes, as 100", text);
  return *number;
}

// The memory of this host, as far as we may use it.
double host_memory_gb(const topology::Machine& machine) {
  const auto whole = static_cast<double>(topology::memory().total);
  const auto allowed = machine.limits.memory_bytes.value_or(UINT64_MAX);
  return std::min(whole, static_cast<double>(allowed)) / 1e9;
}

// What is published about this machine: its GPU, else its processors.
MachineRates this_machine() {
  const topology::Machine machine = topology::discover();
  const auto unknown = [](const std::string& name) {
    return fmt::format("{}, for which Ronde has no published figures ('ronde bench roofline' measures them)", name);
  };
  if (!machine.gpus.empty()) {
    const std::string& gpu = machine.gpus.front().name;
    if (const Hardware* known = match_hardware(gpu)) return rates_of(*known);
    return {.name = unknown(gpu), .kind = Hardware::Kind::Gpu};
  }
  MachineRates rates;
  if (const Hardware* known = match_hardware(machine.cpu_model))
    rates = rates_of(*known, static_cast<int>(std::max<std::size_t>(1, machine.packages.size())));
  else
    rates.name = unknown(machine.cpu_model);
  rates.memory_gb = host_memory_gb(machine);
  return rates;
}

// Measured figures go before published ones, and what the user names before both.
MachineRates rates_for(const LimitsFlags& flags, const Context& context) {
  if (!flags.hardware.empty() && !flags.roofline.empty())
    throw Error::bad_input("--hardware and --roofline cannot be used together");
  if (!flags.hardware.empty()) return rates_of(find_hardware(flags.hardware));
  if (!flags.roofline.empty()) return read_rates(flags.roofline);
  const auto measured = default_roofline(context.environment);
  if (!measured.empty() && std::filesystem::exists(measured)) return read_rates(measured);
  return this_machine();
}

int limits(const LimitsFlags& flags, const Context& context) {
  if (flags.list) return list_hardware();
  if (flags.recipe.empty()) throw Error::bad_input("missing recipe: a TOML file, or one of 'ronde train --list'");
  const MachineRates machine = rates_for(flags, context);
  train::Spread spread{
      .ranks = ranks_of(flags.ranks), .network_gbit_s = network_of(flags.network), .memory = memory_of(flags.memory)};
  const auto settings = Settings::load(context.environment, context.flags, train::find_recipe(flags.recipe));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // a dry run is for the CPU, and nobody has opened a GPU yet
  const train::Limits found = train::find_limits(settings, machine, spread);
  fmt::print("{}", flags.json ? json_text(train::to_json(found)) + "\n" : train::to_text(found));
  return 0;
}

}  // namespace

void add_limits(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<LimitsFlags>();
  CLI::App* limits_command = app.get_subcommand("limits");
  limits_command->add_option("RECIPE", flags->recipe, "TOML file, or the name of a built-in recipe");
  limits_command->add_option("-n", flags->ranks, "Number of ranks that share the machine, default 1")
      ->type_name("RANKS");
  limits_command
      ->add_option("--hardware", flags->hardware,
                   "Use published figures of a GPU or processor (H200, EPYC 7763) instead of this machine's")
      ->type_name("NAME");
  limits_command->add_flag("--list-hardware", flags->list, "List all hardware with published figures");
  limits_command
      ->add_option("--roofline", flags->roofline,
                   "File that 'ronde bench roofline' wrote; default ~/.cache/ronde/roofline.json, if it exists")
      ->type_name("FILE");
  limits_command
      ->add_option("--memory", flags->memory,
                   "Memory of the machine, or of a GPU, as 64GiB; default: that of the hardware")
      ->type_name("BYTES");
  limits_command
      ->add_option("--network", flags->network, "Gbit/s per rank between nodes, if gradients leave the machine")
      ->type_name("GBIT");
  limits_command->add_flag("--json", flags->json, "Print JSON for scripts");
  limits_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return limits(*flags, context); }; });
}

}  // namespace ronde::cli
