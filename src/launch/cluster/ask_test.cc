#include "ronde/launch/cluster/ask.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace ronde::launch {
namespace {

const Environment kPath{{"PATH", "/usr/bin:/bin"}};

TEST(AskProgram, ReturnsWhatItPrints) {
  EXPECT_EQ(ask_program({"sh", "-c", "echo out; echo err >&2; exit 3"}, kPath), "out\nerr\n");
  EXPECT_EQ(ask_program({"no-such-program"}, kPath), std::nullopt);
}

TEST(AskProgram, IsNotPatientForever) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_program({"sleep", "60"}, kPath, std::chrono::milliseconds(50)), std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(FindLaunchers, OnThePathAlone) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "launchers";
  std::filesystem::create_directories(folder);
  const auto program = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  };
  program("mpirun", "echo 'mpirun (Open MPI) 5.0.1'");
  program("mpiexec", "echo 'HYDRA build details:'; echo '  Version:   4.2'");
  program("srun", "if [ $1 = --version ]; then echo slurm 23.11.1; else echo pmix; fi");
  const auto found = find_launchers({{"PATH", folder.string()}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].kind, LauncherKind::OpenMpi);
  EXPECT_EQ(found[0].program, (folder / "mpirun").string());
  EXPECT_EQ(found[1].version, "4.2");
  EXPECT_EQ(found[2].mpi_types, "pmix\n");
  EXPECT_TRUE(find_launchers({{"PATH", "/no/such/folder"}}).empty());
}

}  // namespace
}  // namespace ronde::launch
