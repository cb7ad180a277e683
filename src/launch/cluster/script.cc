#include "ronde/launch/cluster/script.h"

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/cluster/shell.h"
#include "ronde/launch/cluster/walltime.h"

namespace ronde::launch {
namespace {

// Lines for who pays and where; what is not known is a comment that the batch system does not read.
std::string site_lines(const ScriptRequest& request, const std::string& mark, const std::string& account,
                       const std::string& queue) {
  std::string known, blank;
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (value.empty())
      blank += fmt::format("#{} {}FILL_IN\n", mark, flag);
    else
      known += fmt::format("{} {}{}\n", mark, flag, value);
  };
  add(account, request.account);
  add(queue, request.queue);
  if (!blank.empty()) blank = "# If your site requires these, remove one # and fill in:\n" + blank;
  return known + blank;
}

std::string slurm(const ScriptRequest& request) {
  const JobShape& shape = request.shape;
  std::string text = fmt::format(
      "#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n#SBATCH --exclusive\n"
      "#SBATCH --time={}\n#SBATCH --output=%x-%j.out\n",
      request.job_name, shape.nodes, shape.per_node, clock_text(request.time));
  if (request.gpus_per_node > 0) text += fmt::format("#SBATCH --gpus-per-node={}\n", request.gpus_per_node);
  return text + site_lines(request, "#SBATCH", "--account=", "--partition=");
}

std::string lsf(const ScriptRequest& request) {
  const JobShape& shape = request.shape;
  const auto minutes = std::chrono::ceil<std::chrono::minutes>(request.time).count();
  std::string text = fmt::format(
      "#BSUB -J {}\n#BSUB -n {}\n#BSUB -R \"span[ptile={}]\"\n#BSUB -x\n#BSUB -W {}:{:02}\n#BSUB -o {}-%J.out\n",
      request.job_name, shape.ranks, shape.per_node, minutes / 60, minutes % 60, request.job_name);
  if (request.gpus_per_node > 0) text += fmt::format("#BSUB -gpu \"num={}\"\n", request.gpus_per_node);
  return text + site_lines(request, "#BSUB", "-P ", "-q ");
}

std::string pbs(const ScriptRequest& request) {
  const JobShape& shape = request.shape;
  std::string chunk = fmt::format("select={}:ncpus={}:mpiprocs={}", shape.nodes, shape.per_node, shape.per_node);
  if (request.gpus_per_node > 0) chunk += fmt::format(":ngpus={}", request.gpus_per_node);
  return fmt::format("#PBS -N {}\n#PBS -l {}\n#PBS -l place=scatter:excl\n#PBS -l walltime={}\n#PBS -j oe\n",
                     request.job_name, chunk, clock_text(request.time)) +
         site_lines(request, "#PBS", "-A ", "-q ");
}

// A batch script starts in a folder that differs: Slurm's is where it was submitted from, the others' is home.
std::string folder(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::Slurm: return "";
    case Scheduler::Lsf: return "cd \"$LS_SUBCWD\"\n";
    case Scheduler::Pbs: return "cd \"$PBS_O_WORKDIR\"\n";
  }
  return "";
}

}  // namespace

JobShape complete(JobShape shape) {
  if (shape.nodes == 0 && shape.per_node > 0 && shape.ranks > 0) shape.nodes = (shape.ranks - 1) / shape.per_node + 1;
  if (shape.nodes == 0) shape.nodes = 1;
  if (shape.per_node == 0) shape.per_node = shape.ranks / shape.nodes;
  if (shape.ranks == 0) shape.ranks = shape.nodes * shape.per_node;
  if (shape.ranks == 0)
    throw Error::bad_input("missing number of ranks for the script, for example: -n 8 --ranks-per-node 4");
  if (shape.ranks != shape.nodes * shape.per_node)
    throw Error::bad_input("{} are not {} on each of {}: all nodes of a batch job have the same number of ranks",
                           counted(static_cast<std::size_t>(shape.ranks), "rank"), shape.per_node,
                           counted(static_cast<std::size_t>(shape.nodes), "node"));
  return shape;
}

std::string batch_script(const ScriptRequest& request) {
  const auto head = [&] {
    switch (request.scheduler) {
      case Scheduler::Slurm: return slurm(request);
      case Scheduler::Lsf: return lsf(request);
      case Scheduler::Pbs: return pbs(request);
    }
    throw Error(Error::Kind::Bug, "a batch system without a script");
  };
  return "#!/bin/bash\n" + head() + "\nset -e\n" + folder(request.scheduler) +
         "# Add what your site needs to find MPI here: module load openmpi\n\n# Hosts, ranks and the time limit come "
         "from the job.\n" +
         shell_line(request.command, 100) + "\n";
}

}  // namespace ronde::launch
