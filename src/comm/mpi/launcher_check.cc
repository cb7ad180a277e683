#include "ronde/comm/mpi/launcher_check.h"

#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"

namespace ronde::comm::detail {
namespace {

int number(const Environment& environment, std::string_view name) {
  const auto text = environment.get(name);
  return text ? parse_number<int>(*text).value_or(0) : 0;
}

// "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)": of a page of text, what names the product.
std::string in_short(const std::string& version, const std::string& library) {
  const std::string_view line = split(version, '\n').front();
  std::string text(trim(split(line, ',').front()));
  if (text.starts_with("MPICH Version")) text = "MPICH " + std::string(trim(text.substr(text.find(':') + 1)));
  return fmt::format("{} ({})", text, library);
}

}  // namespace

MpiKind kind_of(const std::string& library_version) {
  return library_version.find("Open MPI") != std::string::npos ||
                 library_version.find("Spectrum MPI") != std::string::npos
             ? MpiKind::OpenMpi
             : MpiKind::Mpich;
}

LaunchedBy launched_by(const Environment& environment) {
  if (const int ranks = number(environment, "OMPI_COMM_WORLD_SIZE"); ranks > 0)
    return {ranks, "mpirun of Open MPI (OMPI_COMM_WORLD_SIZE)", MpiKind::OpenMpi};
  const int step = number(environment, "SLURM_STEP_NUM_TASKS");
  if (step > 0 && environment.get("PMIX_NAMESPACE"))
    return {step, "srun --mpi=pmix (SLURM_STEP_NUM_TASKS)", MpiKind::OpenMpi};
  if (const int ranks = number(environment, "PMI_SIZE"); ranks > 0)
    return {ranks, step > 0 ? "srun --mpi=pmi2 (PMI_SIZE)" : "mpiexec of MPICH (PMI_SIZE)", MpiKind::Mpich};
  if (step > 0) return {step, "srun (SLURM_STEP_NUM_TASKS)", {}};
  return {};
}

std::string trouble_before_start(const Environment& environment, const std::string& library,
                                 const std::string& version) {
  const LaunchedBy by = launched_by(environment);
  const bool from_slurm = number(environment, "SLURM_STEP_NUM_TASKS") > 0;
  if (kind_of(version) != MpiKind::OpenMpi || !from_slurm || by.kind == MpiKind::OpenMpi) return {};
  return fmt::format(
      "{} started this process as one of {}, in a way that {} does not understand; start it with srun --mpi=pmix, or "
      "with mpirun inside sbatch or salloc",
      by.launcher, by.ranks, in_short(version, library));
}

std::string trouble_with_world(const Environment& environment, int world, const std::string& library,
                               const std::string& version) {
  const LaunchedBy by = launched_by(environment);
  if (by.ranks == 0 || by.ranks == world) return {};
  const bool slurm = number(environment, "SLURM_STEP_NUM_TASKS") > 0;
  std::string advice =
      "start it with the mpirun that belongs to this library, or set mpi.library to the launcher's library";
  if (slurm)
    advice = kind_of(version) == MpiKind::Mpich ? "start it with srun --mpi=pmi2" : "start it with srun --mpi=pmix";
  return fmt::format(
      "{} reports {} ranks, but the MPI library of this process, {}, sees {}: launcher and library do not match; {}",
      by.launcher, by.ranks, in_short(version, library), world, advice);
}

}  // namespace ronde::comm::detail
