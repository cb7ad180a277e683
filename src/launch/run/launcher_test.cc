#include "ronde/launch/run/launcher.h"

#include <functional>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/process/test_complaint.h"

namespace ronde::launch {
namespace {

constexpr auto kTypes =
    "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n";
const Launcher kOpenMpi{LauncherKind::OpenMpi, "/usr/bin/mpirun", "4.1.4"};
const Launcher kHydra{LauncherKind::Hydra, "/usr/bin/mpiexec", "4.0.2"};
const Launcher kSrun{LauncherKind::Srun, "/usr/bin/srun", "22.05.8", kTypes};
const Launcher kJsrun{LauncherKind::Jsrun, "/opt/jsrun", "10.4"};
const Placement kTwoByTwo{.hosts = {{"a", 2}, {"b", 2}}, .ranks = 4};
const Placement kUneven{.hosts = {{"a", 2}, {"b", 1}}, .ranks = 3};

LaunchRequest request(const Launcher& launcher, const Placement& placement) {
  return {.launcher = launcher, .placement = placement, .rank_command = {"ronde", "start-rank", "--", "prog"}};
}

std::string line(const LaunchRequest& request) {
  return join(launch_command(request), " ");
}

TEST(Launchers, AreToldApartByWhatTheyPrint) {
  const auto four = identify_launcher("/usr/bin/mpirun", "mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n");
  ASSERT_TRUE(four);
  EXPECT_EQ(four->kind, LauncherKind::OpenMpi);
  EXPECT_EQ(four->version, "4.1.4");
  EXPECT_EQ(identify_launcher("mpirun.openmpi", "mpirun.openmpi (OpenRTE) 4.1.4\n")->version, "4.1.4");
  EXPECT_EQ(identify_launcher("mpirun", "mpirun (Open MPI) 5.0.3\n")->version, "5.0.3");
  const auto hydra =
      identify_launcher("mpirun", "HYDRA build details:\n    Version:              4.0.2\n    CC: gcc\n");
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->kind, LauncherKind::Hydra);
  EXPECT_EQ(hydra->version, "4.0.2");
  EXPECT_EQ(identify_launcher("/opt/slurm/srun", "slurm 23.02.1\n")->version, "23.02.1");
  EXPECT_EQ(identify_launcher("/usr/bin/srun", "slurm-wlm 22.05.8\n")->version, "22.05.8");
  EXPECT_EQ(identify_launcher("/opt/jsrun", "")->kind, LauncherKind::Jsrun);
  EXPECT_FALSE(identify_launcher("srun", "srun: fatal: Could not establish a configuration source\n"));
  EXPECT_FALSE(identify_launcher("mpirun", "something else 1.0\n"));
}

TEST(Launchers, FamiliesOfLibraries) {
  EXPECT_EQ(family_of("Open MPI v4.1.4"), MpiFamily::OpenMpi);
  EXPECT_EQ(family_of("MPICH Version:\t4.0.2"), MpiFamily::Mpich);
  EXPECT_EQ(family_of("Intel(R) MPI Library 2021.9"), MpiFamily::Mpich);
  EXPECT_EQ(family_of(""), MpiFamily::Unknown);
}

TEST(ChooseLauncher, TakesTheOneThatFitsTheLibrary) {
  const std::vector all{kOpenMpi, kHydra, kSrun};
  EXPECT_EQ(choose_launcher(all, {}).kind, LauncherKind::OpenMpi) << "the first, when nothing is known";
  EXPECT_EQ(choose_launcher(all, {.family = MpiFamily::Mpich}).kind, LauncherKind::Hydra);
  EXPECT_EQ(choose_launcher(all, {.scheduler = Scheduler::Pbs, .family = MpiFamily::OpenMpi}).kind,
            LauncherKind::OpenMpi);
  EXPECT_EQ(choose_launcher(std::vector{kHydra}, {.family = MpiFamily::OpenMpi}).kind, LauncherKind::Hydra);
  EXPECT_EQ(choose_launcher(all, {.kind = LauncherKind::Srun}).kind, LauncherKind::Srun);
  EXPECT_EQ(choose_launcher(std::vector{kOpenMpi, kJsrun}, {.scheduler = Scheduler::Lsf}).kind, LauncherKind::Jsrun);
}

TEST(ChooseLauncher, InASlurmJobSrunWhereItCan) {
  const LauncherPreference open{.scheduler = Scheduler::Slurm, .family = MpiFamily::OpenMpi};
  EXPECT_EQ(choose_launcher(std::vector{kOpenMpi, kSrun}, open).kind, LauncherKind::Srun);
  const Launcher without_pmix{LauncherKind::Srun, "srun", "22", "MPI plugin types are...\n\tnone\n\tpmi2\n"};
  EXPECT_EQ(choose_launcher(std::vector{kOpenMpi, without_pmix}, open).kind, LauncherKind::OpenMpi);
  const std::string why = complaint([&] { choose_launcher(std::vector{without_pmix}, open); });
  EXPECT_NE(why.find("srun cannot start Open MPI here: that needs 'srun --mpi=pmix'"), std::string::npos) << why;
}

TEST(ChooseLauncher, SaysWhatIsMissing) {
  EXPECT_NE(complaint([] { choose_launcher({}, {}); }).find("openmpi-bin"), std::string::npos);
  EXPECT_NE(complaint([] { choose_launcher({}, {.family = MpiFamily::Mpich}); }).find("Debian's mpich"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              choose_launcher(std::vector{kOpenMpi}, {.kind = LauncherKind::Jsrun});
            }).find("--launcher jsrun: IBM's jsrun is not on the PATH"),
            std::string::npos);
  EXPECT_NE(complaint([] { choose_launcher(std::vector{kSrun}, {}); }).find("there is none"), std::string::npos)
      << "outside of a job srun would wait in the queue";
}

TEST(ChooseLauncher, NamesOfTheFlag) {
  EXPECT_FALSE(parse_launcher("auto"));
  EXPECT_EQ(parse_launcher("hydra"), LauncherKind::Hydra);
  EXPECT_EQ(complaint([] { parse_launcher("ssh"); }),
            "--launcher ssh: unknown launcher; use auto, mpirun, hydra, srun or jsrun");
}

TEST(LaunchCommand, OfOpenMpi) {
  LaunchRequest job = request(kOpenMpi, kTwoByTwo);
  EXPECT_EQ(line(job), "/usr/bin/mpirun -np 4 --host a:2,b:2 --map-by slot --bind-to none ronde start-rank -- prog");
  job.placement = kUneven;
  job.placement.oversubscribed = true;
  job.as_root = true;
  job.pass = {"PATH", "RONDE_LOG_LEVEL"};
  job.extra = {"--mca", "btl", "tcp,self"};
  EXPECT_EQ(line(job),
            "/usr/bin/mpirun -np 3 --host a:2,b:1 --map-by slot:OVERSUBSCRIBE --bind-to none --allow-run-as-root -x "
            "PATH -x RONDE_LOG_LEVEL --mca btl tcp,self ronde start-rank -- prog");
}

TEST(LaunchCommand, OfOpenMpiOnANetwork) {
  LaunchRequest job = request(kOpenMpi, kTwoByTwo);
  job.interface = "ib0";
  job.tcp = true;
  job.binding = {"--bind-to", "socket"};
  EXPECT_EQ(line(job),
            "/usr/bin/mpirun -np 4 --host a:2,b:2 --map-by slot --bind-to socket --mca pml ob1 --mca btl tcp,self "
            "--mca btl_tcp_if_include ib0 --mca oob_tcp_if_include ib0 ronde start-rank -- prog");
}

TEST(LaunchCommand, OfHydra) {
  LaunchRequest job = request(kHydra, kUneven);
  EXPECT_EQ(line(job), "/usr/bin/mpiexec -n 3 -hosts a:2,b:1 -bind-to none ronde start-rank -- prog");
  job.interface = "ib0";
  EXPECT_NE(line(job).find("-iface ib0 ronde"), std::string::npos);
}

TEST(LaunchCommand, OfSrun) {
  LaunchRequest job = request(kSrun, kTwoByTwo);
  job.family = MpiFamily::OpenMpi;
  EXPECT_EQ(line(job),
            "/usr/bin/srun --ntasks=4 --nodes=2 --nodelist=a,b --ntasks-per-node=2 --distribution=block "
            "--cpu-bind=none --mem-bind=none --mpi=pmix --kill-on-bad-exit=1 --input=0 --export=ALL ronde start-rank "
            "-- prog");
  job.family = MpiFamily::Mpich;
  EXPECT_NE(line(job).find("--mpi=pmi2 "), std::string::npos);
  job.family = MpiFamily::Unknown;
  EXPECT_EQ(line(job).find("--mpi="), std::string::npos);
}

TEST(LaunchCommand, OfSrunWhenHostsDifferOrAreInAnOrderOfTheirOwn) {
  EXPECT_NE(line(request(kSrun, kUneven)).find("--nodes=2 --nodelist=a,a,b --distribution=arbitrary "),
            std::string::npos);
  LaunchRequest job = request(kSrun, {.hosts = {{"b", 1}, {"a", 1}}, .ranks = 2});
  job.keep_order = true;
  EXPECT_NE(line(job).find("--nodelist=b,a --distribution=arbitrary "), std::string::npos);
}

TEST(LaunchCommand, SrunRefusesWhatCannotStartOpenMpi) {
  LaunchRequest job = request(kSrun, kTwoByTwo);
  job.family = MpiFamily::OpenMpi;
  job.extra = {"--mpi=pmi2"};
  EXPECT_NE(complaint([&] { launch_command(job); }).find("'srun --mpi=pmi2' does not start Open MPI"),
            std::string::npos);
  job.family = MpiFamily::Mpich;
  EXPECT_NO_THROW(launch_command(job));
}

TEST(LaunchCommand, OfJsrun) {
  LaunchRequest job = request(kJsrun, kTwoByTwo);
  EXPECT_EQ(line(job),
            "/opt/jsrun --nrs 2 --rs_per_host 1 --tasks_per_rs 2 --cpu_per_rs ALL_CPUS --gpu_per_rs ALL_GPUS "
            "--launch_distribution packed --bind none --exit_on_error 1 ronde start-rank -- prog");
  job.placement = kUneven;
  EXPECT_NE(complaint([&] { launch_command(job); }).find("not 2,1"), std::string::npos);
  job.placement = kTwoByTwo;
  job.keep_order = true;
  EXPECT_NE(complaint([&] { launch_command(job); }).find("from the LSF job"), std::string::npos);
}

TEST(VariablesToPass, AreTheUsers) {
  EXPECT_EQ(variables_to_pass({{"PATH", "/bin"},
                               {"RONDE_LOG_LEVEL", "debug"},
                               {"RONDE__RANK", "0"},
                               {"SLURM_JOB_ID", "1"},
                               {"OMPI_MCA_btl", "tcp"},
                               {"PWD", "/x"},
                               {"BASH_FUNC_module%%", "() {\n}"},
                               {"TEXT", "two\nlines"},
                               {"MINE", "1"}}),
            (std::vector<std::string>{"MINE", "PATH", "RONDE_LOG_LEVEL"}));
}

}  // namespace
}  // namespace ronde::launch
