#include "ronde/launch/run/launcher.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

struct Known {
  LauncherKind kind;
  std::string_view flag;
  std::string_view what;   // for people
  std::string_view bring;  // what would bring it
};
constexpr auto kKnown = std::to_array<Known>({
    {LauncherKind::OpenMpi, "mpirun", "Open MPI's mpirun", "Debian's openmpi-bin, or 'module load openmpi'"},
    {LauncherKind::Hydra, "hydra", "MPICH's mpiexec (hydra)", "Debian's mpich, or 'module load mpich'"},
    {LauncherKind::Srun, "srun", "Slurm's srun", "a machine of a Slurm cluster"},
    {LauncherKind::Jsrun, "jsrun", "IBM's jsrun", "a machine with LSF and Job Step Manager"},
});

const Known& known(LauncherKind kind) {
  return *std::ranges::find(kKnown, kind, &Known::kind);
}

constexpr auto kNames =
    std::to_array<std::string_view>({"mpirun", "mpiexec", "mpirun.openmpi", "orterun", "mpiexec.hydra", "mpirun.mpich",
                                     "mpiexec.mpich", "srun", "jsrun"});

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The first word of a text that begins with a digit.
std::string first_number(std::string_view text) {
  const auto begin = std::ranges::find_if(text, [](unsigned char letter) { return std::isdigit(letter) != 0; });
  const auto end = std::find_if(begin, text.end(), [](unsigned char letter) { return std::isspace(letter) != 0; });
  return {begin, end};
}

const Launcher* find_kind(std::span<const Launcher> found, LauncherKind kind) {
  const auto launcher = std::ranges::find(found, kind, &Launcher::kind);
  return launcher == found.end() ? nullptr : &*launcher;
}

// srun's own list: "MPI plugin types are...\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4".
bool offers(const Launcher& srun, std::string_view type) {
  for (const auto line : split(srun.mpi_types, '\n')) {
    std::string_view word = trim(line);
    word = word.substr(word.rfind(' ') + 1);  // older ones put "srun: " in front
    if (word == type) return true;
  }
  return false;
}

std::string_view type_for(MpiFamily family) {
  return family == MpiFamily::OpenMpi ? "pmix" : family == MpiFamily::Mpich ? "pmi2" : "";
}

bool srun_can_start(const Launcher& srun, MpiFamily family) {
  return type_for(family).empty() || offers(srun, type_for(family));
}

Error none_found(MpiFamily family) {
  const LauncherKind kind = family == MpiFamily::Mpich ? LauncherKind::Hydra : LauncherKind::OpenMpi;
  return Error::bad_input(
      "ranks on other machines need a launcher, and there is none on the PATH (mpirun, mpiexec, srun, jsrun): {} "
      "provides one",
      known(kind).bring);
}

Launcher preferred(std::span<const Launcher> found, LauncherKind kind) {
  if (const Launcher* launcher = find_kind(found, kind)) return *launcher;
  throw Error::bad_input("--launcher {}: {} is not on the PATH; {} provides it", known(kind).flag, known(kind).what,
                         known(kind).bring);
}

}  // namespace

std::string_view name(LauncherKind kind) {
  return known(kind).flag;
}

std::string_view name(MpiFamily family) {
  return family == MpiFamily::OpenMpi ? "Open MPI" : family == MpiFamily::Mpich ? "MPICH" : "unknown";
}

MpiFamily family_of(std::string_view library) {
  if (library.find("Open MPI") != library.npos || library.find("Spectrum") != library.npos) return MpiFamily::OpenMpi;
  for (const auto* word : {"MPICH", "Intel", "MVAPICH"})
    if (library.find(word) != library.npos) return MpiFamily::Mpich;
  return MpiFamily::Unknown;
}

MpiFamily family_of(LauncherKind kind) {
  if (kind == LauncherKind::OpenMpi) return MpiFamily::OpenMpi;
  return kind == LauncherKind::Hydra ? MpiFamily::Mpich : MpiFamily::Unknown;
}

bool mixes_output(LauncherKind kind) {
  return kind == LauncherKind::OpenMpi || kind == LauncherKind::Hydra;
}

// Seen: Open MPI and Slurm pass SIGUSR2 on; hydra dies of it, and passes SIGTERM on.
int stop_signal(LauncherKind kind) {
  return kind == LauncherKind::OpenMpi || kind == LauncherKind::Srun ? SIGUSR2 : SIGTERM;
}

bool passes_user_signal(LauncherKind kind) {
  return kind == LauncherKind::OpenMpi || kind == LauncherKind::Srun;
}

std::optional<LauncherKind> parse_launcher(std::string_view name) {
  if (name == "auto") return {};
  const auto found = std::ranges::find(kKnown, name, &Known::flag);
  if (found == kKnown.end())
    throw Error::bad_input("--launcher {}: unknown launcher; use auto, mpirun, hydra, srun or jsrun", name);
  return found->kind;
}

std::span<const std::string_view> launcher_names() {
  return kNames;
}

std::optional<Launcher> identify_launcher(const std::string& program, std::string_view version_text) {
  const auto after = [&](std::string_view mark) -> std::optional<std::string> {
    const auto at = version_text.find(mark);
    if (at == std::string_view::npos) return {};
    return first_number(version_text.substr(at + mark.size()));
  };
  for (const auto* mark : {"(Open MPI)", "(OpenRTE)"})
    if (auto version = after(mark)) return Launcher{LauncherKind::OpenMpi, program, *version};
  if (version_text.find("HYDRA") != version_text.npos)
    return Launcher{LauncherKind::Hydra, program, after("Version:").value_or("")};
  if (file_name(program) == "srun" && version_text.starts_with("slurm"))  // Debian's says slurm-wlm
    return Launcher{LauncherKind::Srun, program, first_number(version_text)};
  if (file_name(program) == "jsrun") return Launcher{LauncherKind::Jsrun, program, first_number(version_text)};
  return {};
}

Launcher choose_launcher(std::span<const Launcher> found, const LauncherPreference& preference) {
  if (preference.kind) return preferred(found, *preference.kind);
  if (preference.scheduler == Scheduler::Slurm)
    if (const Launcher* srun = find_kind(found, LauncherKind::Srun); srun && srun_can_start(*srun, preference.family))
      return *srun;
  if (preference.scheduler == Scheduler::Lsf)
    if (const Launcher* jsrun = find_kind(found, LauncherKind::Jsrun)) return *jsrun;
  const Launcher* any = nullptr;
  for (const Launcher& launcher : found) {
    const MpiFamily family = family_of(launcher.kind);
    if (family == MpiFamily::Unknown) continue;  // these start jobs of a batch system alone
    if (family == preference.family) return launcher;
    if (!any) any = &launcher;
  }
  if (any) return *any;
  if (preference.scheduler == Scheduler::Slurm)
    if (const Launcher* srun = find_kind(found, LauncherKind::Srun))
      srun_mpi_type(*srun, preference.family);  // says why not
  throw none_found(preference.family);
}

std::string srun_mpi_type(const Launcher& srun, MpiFamily family) {
  const std::string type(type_for(family));
  if (srun_can_start(srun, family)) return type;
  throw Error::bad_input(
      "srun cannot start {} here: that needs 'srun --mpi={}', which 'srun --mpi=list' does not list; use --launcher "
      "mpirun, or an MPI library that srun supports (setting mpi.library)",
      name(family), type);
}

std::vector<std::string> variables_to_pass(const Environment::Variables& variables) {
  constexpr auto kOfThisMachine = std::to_array<std::string_view>(
      {"_",        "HOME",     "USER",    "LOGNAME",    "SHELL",     "PWD",       "OLDPWD",        "SHLVL",
       "HOSTNAME", "HOST",     "DISPLAY", "XAUTHORITY", "TERM",      "COLORTERM", "LS_COLORS",     "LINES",
       "COLUMNS",  "WINDOWID", "MAIL",    "TMUX",       "TMUX_PANE", "STY",       "INVOCATION_ID", "JOURNAL_STREAM"});
  constexpr auto kOfOthers = std::to_array<std::string_view>(
      {"RONDE__", "SLURM", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "PBS_", "LSB_", "LSF_", "OMPI_", "PMIX_",
       "PMI_",    "PRTE_", "PRRTE_",  "HYDRA_",  "HYDI_",   "JSM_",  "CSM_", "SSH_", "XDG_", "DBUS_", "BASH_FUNC"});
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) {
    const auto begins = [&name = name](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::ranges::count(kOfThisMachine, name) || std::ranges::any_of(kOfOthers, begins)) continue;
    if (value.find('\n') == std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace ronde::launch
