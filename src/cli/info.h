#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/terminal.h"
#include "ronde/cli/program/app.h"
#include "ronde/cli/training/torch_facts.h"
#include "ronde/device/device.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// What `ronde info` knows about this build, this machine and the settings; gathered once, shown as text or JSON.
struct Info {
  std::optional<TorchFacts> torch;
  std::string mpi_file;              // empty: a build without MPI, and none named
  std::string mpi_version;           // of the library that is loaded at run time
  std::optional<Error> mpi_failure;  // why it cannot be
  topology::Machine machine;
  std::vector<std::string> instruction_sets;
  topology::Memory memory;
  std::optional<topology::FileSystem> shared_memory;  // /dev/shm; absent in some containers
  std::string folder;                                 // the working directory
  topology::FileSystem folder_system;
  std::vector<device::Info> gpus;
  std::string no_gpu_reason;
  Settings settings;
};

Info gather_info(const Context& context);
std::string to_text(const Info& info, const Paint& paint);
std::string settings_table(const Settings& settings);
nlohmann::ordered_json to_json(const Info& info);

// Adds `ronde info`; when it is chosen, sets `command`.
void add_info(CLI::App& app, std::function<int(const Context&)>& command);

}  // namespace ronde::cli
