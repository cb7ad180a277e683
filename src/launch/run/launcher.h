#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/cluster/allocation.h"
#include "ronde/launch/place/hosts.h"

// The programs that start processes on several machines, and how each of them wants to be asked. All pure.
namespace ronde::launch {

enum class LauncherKind { OpenMpi, Hydra, Srun, Jsrun };
enum class MpiFamily { Unknown, OpenMpi, Mpich };

struct Launcher {
  LauncherKind kind = LauncherKind::OpenMpi;
  std::string program;         // where it lies
  std::string version = {};    // "4.1.4"
  std::string mpi_types = {};  // srun: what `srun --mpi=list` prints
};

std::string_view name(LauncherKind kind);       // as --launcher takes it: mpirun, hydra, srun, jsrun
std::string_view name(MpiFamily family);        // "Open MPI"
MpiFamily family_of(std::string_view library);  // from what an MPI library says about itself
MpiFamily family_of(LauncherKind kind);         // that it starts by itself; Unknown: any

// Whether it passes output of ranks on in pieces of what it reads, at least 4 KiB at once, rather than in lines.
bool mixes_output(LauncherKind kind);

// The signal on which it tells all ranks to stop and gives them time: passed on, or SIGTERM.
int stop_signal(LauncherKind kind);
// Whether it passes SIGUSR1 on to all ranks, and does nothing else on it.
bool passes_user_signal(LauncherKind kind);

// Nothing: --launcher auto. FAILS WITH: BadInput, listing the names there are.
std::optional<LauncherKind> parse_launcher(std::string_view name);

// The names under which launchers are found on the PATH, the likeliest first.
std::span<const std::string_view> launcher_names();

// Which launcher a program is, by its name and what it prints for --version. Nothing: none that we know.
std::optional<Launcher> identify_launcher(const std::string& program, std::string_view version_text);

struct LauncherPreference {
  std::optional<LauncherKind> kind = {};    // --launcher
  std::optional<Scheduler> scheduler = {};  // whose job we are in
  MpiFamily family = MpiFamily::Unknown;    // of the MPI library that ranks will load
};

// The launcher to use. Inside a Slurm job srun, where it can start ranks of this MPI library; jsrun where it is there;
// otherwise the launcher of the same family as the library, and if that is not known, the first.
// FAILS WITH: BadInput when there is none, saying what would bring one.
Launcher choose_launcher(std::span<const Launcher> found, const LauncherPreference& preference);

// srun's way to tell ranks of each other for this family ("pmix", "pmi2"); empty: leave it to srun.
// FAILS WITH: BadInput when srun does not have it.
std::string srun_mpi_type(const Launcher& srun, MpiFamily family);

struct LaunchRequest {
  Launcher launcher;
  Placement placement;
  MpiFamily family = MpiFamily::Unknown;
  std::vector<std::string> pass = {};     // names of variables that ranks on other machines shall have
  std::vector<std::string> extra = {};    // --mpi-args: for the launcher, before the command
  std::vector<std::string> binding = {};  // --binding-args, instead of being told not to bind
  std::string interface = {};             // network interface; empty: the launcher's choice
  bool tcp = false;                       // nothing but TCP between machines
  bool as_root = false;
  bool keep_order = false;                     // hosts are in the user's order, not in that of the batch system
  std::vector<std::string> rank_command = {};  // what each rank starts with
};

// The launcher's exact command line, the program first.
// FAILS WITH: BadInput when this launcher cannot do what is asked.
std::vector<std::string> launch_command(const LaunchRequest& request);

// Names of the variables that belong to the user rather than to this machine, this shell or a batch system, and have
// values on one line. RONDE__* is left out: it is between a launcher and its own ranks.
std::vector<std::string> variables_to_pass(const Environment::Variables& variables);

}  // namespace ronde::launch
