#include "ronde/launch/cluster/container.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

TEST(Container, PutsTheCommandIntoTheImage) {
  EXPECT_EQ(join(container_command({.image = "ronde.sif", .binds = {}},
                                   {.runtime = "/usr/bin/apptainer", .folder = "/proj/job"}, {"python", "train.py"}),
                 " "),
            "/usr/bin/apptainer exec --bind /proj/job --bind /dev/shm --pwd /proj/job ronde.sif python train.py");
}

TEST(Container, BindsWhatIsNeededOnceAndWhatTheUserNames) {
  EXPECT_EQ(join(container_command({.image = "x.sif", .binds = {"/data", "/scratch:/s:ro"}},
                                   {.runtime = "apptainer",
                                    .gpu = true,
                                    .folder = "/proj",
                                    .folders = {"/proj/traces", "/opt/bin", "/projshop", "/opt/bin"}},
                                   {"/opt/bin/prog"}),
                 " "),
            "apptainer exec --nv --bind /proj --bind /dev/shm --bind /opt/bin --bind /projshop --bind /data --bind "
            "/scratch:/s:ro --pwd /proj x.sif /opt/bin/prog");
}

TEST(Container, WrongBindsAreNamed) {
  for (const auto* bind : {"", "data", "/a:", ":/b", "/a:/b:rx", "/a:/b:ro:x"})
    EXPECT_THROW(container_command({.image = "x", .binds = {bind}}, {.runtime = "apptainer", .folder = "/"}, {"p"}),
                 Error)
        << bind;
}

TEST(Container, IsRefusedWhereItCannotBe) {
  const auto complaint = [](const Environment& environment, const Container& container) {
    try {
      in_container(container, {"prog"}, false, environment);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(complaint({{"PATH", "/no/such"}}, {.image = "x.sif", .binds = {}}),
            "--container x.sif: neither apptainer nor singularity is on the PATH");
  EXPECT_EQ(complaint({{"PATH", "/no/such"}}, {}), "no error") << "none was asked for";
}

}  // namespace
}  // namespace ronde::launch
