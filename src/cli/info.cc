#include "ronde/cli/info.h"

#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/text/json_text.h"
#include "ronde/base/version.h"
#include "ronde/cli/mpi_facts.h"
#include "ronde/cli/program/parts.h"
#include "ronde/topology/json.h"

namespace ronde::cli {
namespace {

using Json = nlohmann::ordered_json;

void ask_mpi(Info& info, const Log& log) {
  info.mpi_file = mpi_file(info.settings);
  if (info.mpi_file.empty()) return;
  log.debug("loading the MPI library {}", info.mpi_file);
  try {
    info.mpi_version = mpi_library_version(info.mpi_file);
  } catch (const Error& error) {
    info.mpi_failure = error;  // the rest is still worth knowing
  }
}

Json parts_json() {
  Json rows = Json::array();
  for (const Part& part : parts())
    rows.push_back({{"name", part.name},
                    {"built_in", part.built_in},
                    {"version", part.version},
                    {"package", part.package},
                    {"purpose", part.purpose},
                    {"detail", part.detail}});
  return rows;
}

Json gpus_json(const Info& info) {
  Json rows = Json::array();
  for (const auto& gpu : info.gpus)
    rows.push_back(
        {{"name", gpu.name}, {"bytes", gpu.total_bytes}, {"free_bytes", gpu.free_bytes}, {"bus_id", gpu.bus_id}});
  return rows;
}

Json settings_json(const Settings& settings) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    rows.push_back({{"key", kSettings[i].key},
                    {"value", settings.entries()[i].text},
                    {"origin", settings.entries()[i].origin},
                    {"help", kSettings[i].help}});
  return rows;
}

Json torch_json(const std::optional<TorchFacts>& torch) {
  if (!torch) return nullptr;
  return {{"version", torch->version},
          {"cpu_capability", torch->cpu_capability},
          {"onednn", torch->onednn},
          {"mkl", torch->mkl},
          {"threads", torch->threads}};
}

Json file_system_json(const topology::FileSystem& system) {
  return {{"type", system.type},
          {"kind", topology::name(system.kind)},
          {"bytes", system.total},
          {"free_bytes", system.available}};
}

struct InfoFlags {
  bool json = false, settings = false, markdown = false;
};

int show_info(const InfoFlags& flags, const Context& context) {
  if (flags.markdown) {
    fmt::print("{}", settings_as_markdown());
    return 0;
  }
  if (flags.settings && !flags.json) {
    fmt::print("{}", settings_table(context.settings));
    return 0;
  }
  const Info info = gather_info(context);
  const Paint paint = Paint::choose(context.settings.get<"cli.color">(), stdout, context.environment);
  fmt::print("{}\n", flags.json ? json_text(to_json(info)) : to_text(info, paint));
  std::fflush(stdout);  // before the sentence about it
  if (info.mpi_failure) throw *info.mpi_failure;
  return 0;
}

}  // namespace

Info gather_info(const Context& context) {
  Info info;
  info.settings = context.settings;
  info.torch = torch_facts();
  ask_mpi(info, context.log);
  context.log.debug("reading the topology");
  info.machine = topology::discover();
  info.instruction_sets = topology::instruction_sets();
  info.memory = topology::memory();
  if (std::filesystem::is_directory("/dev/shm")) info.shared_memory = topology::file_system("/dev/shm");
  info.folder = std::filesystem::current_path().string();
  info.folder_system = topology::file_system(info.folder);
  context.log.debug("asking for GPUs");
  info.gpus = device::list();
  if (info.gpus.empty()) info.no_gpu_reason = device::why_none();
  return info;
}

Json to_json(const Info& info) {
  Json mpi = {{"library", info.mpi_file}, {"version", info.mpi_version}};
  if (info.mpi_failure) mpi["failure"] = info.mpi_failure->what();
  Json memory = {{"bytes", info.memory.total}, {"free_bytes", info.memory.available}};
  memory["dev_shm"] = info.shared_memory ? file_system_json(*info.shared_memory) : Json(nullptr);
  return {{"ronde", {{"version", version()}, {"revision", revision()}}},
          {"parts", parts_json()},
          {"torch", torch_json(info.torch)},
          {"mpi", mpi},
          {"machine", topology::to_json(info.machine)},
          {"instruction_sets", info.instruction_sets},
          {"memory", memory},
          {"working_directory", {{"path", info.folder}, {"file_system", file_system_json(info.folder_system)}}},
          {"gpus", gpus_json(info)},
          {"no_gpu_reason", info.no_gpu_reason},
          {"settings", settings_json(info.settings)}};
}

void add_info(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* info = app.get_subcommand("info");
  info->add_flag("--json", flags->json, "Print everything as JSON for scripts");
  info->add_flag("--settings", flags->settings, "List every setting with its value and where it came from");
  info->add_flag("--markdown", flags->markdown, "With --settings: print the page docs/settings.md");
  info->callback([flags, &command] {
    if (flags->markdown && !flags->settings) throw Error::bad_input("--markdown needs --settings");
    command = [flags](const Context& context) { return show_info(*flags, context); };
  });
}

}  // namespace ronde::cli
