#include "ronde/launch/process/spawn.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include <gtest/gtest.h>

namespace ronde::launch::detail {
namespace {

const Environment kPath{{"PATH", "/nowhere:/usr/bin:/bin"}};

std::string refusal(const std::string& name, const Environment& environment = kPath) {
  try {
    find_program(name, environment);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
}

TEST(FindProgram, LooksInThePathOrTakesWhatHasASlash) {
  EXPECT_TRUE(find_program("sh", kPath).ends_with("/bin/sh"));
  EXPECT_EQ(find_program("/bin/sh", Environment{}), "/bin/sh");
  EXPECT_TRUE(find_program("sh", Environment{}).ends_with("/bin/sh")) << "without a PATH, the usual folders";
  EXPECT_EQ(refusal("no-such-program"), "command not found: no-such-program");
  EXPECT_EQ(refusal("./no-such-program"), "command not found: ./no-such-program");
  EXPECT_EQ(refusal(""), "command not found: ");
  EXPECT_EQ(refusal("/etc/passwd"), "'/etc/passwd' is not an executable program");
  EXPECT_EQ(refusal("/usr"), "'/usr' is not an executable program");
}

// What a script prints, and how it ends.
std::pair<std::string, int> run(const std::string& script, Environment::Variables environment) {
  const Signals signals({SIGTERM, SIGCHLD});
  Pipe out = Pipe::make();
  const FileDescriptor null = open_null();
  const pid_t pid = start_process({"/bin/sh", {"sh", "-c", script}, std::move(environment)},
                                  {null.get(), out.write.get(), null.get()}, signals);
  out.write.close();
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t got = 0; (got = read(out.read.get(), bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(got));
  int status = 0;
  waitpid(pid, &status, 0);
  return {text, status};
}

TEST(StartProcess, HasItsEnvironmentAloneAndAGroupOfItsOwn) {
  EXPECT_EQ(run("echo $A; exit 7", {{"A", "x=y z"}}), std::pair(std::string("x=y z\n"), 7 << 8));
  const std::string ids = run("read -r id name state parent group rest < /proc/$$/stat; echo $id $group", {}).first;
  const auto blank = ids.find(' ');
  EXPECT_EQ(ids.substr(0, blank), ids.substr(blank + 1, blank));
}

TEST(StartProcess, SignalsThatWeHoldBackReachIt) {
  EXPECT_EQ(run("kill -TERM $$; echo survived", {}), std::pair(std::string(), SIGTERM));
  EXPECT_EQ(run("kill -PIPE $$; echo survived", {}), std::pair(std::string(), SIGPIPE));
}

TEST(StartProcess, InheritsNoDescriptorOfOurs) {
  const std::string script = "exec ls /proc/self/fd";
  std::FILE* plain = popen(script.c_str(), "r");  // has those that this test was itself started with
  std::array<char, 4096> descriptors{};
  const std::size_t length = std::fread(descriptors.data(), 1, descriptors.size(), plain);
  pclose(plain);
  EXPECT_EQ(run(script, {{"PATH", "/usr/bin:/bin"}}).first, std::string(descriptors.data(), length));
}

TEST(StartProcess, SaysWhyAFileIsNoProgram) {
  const Signals signals({SIGCHLD});
  try {
    start_process({"/etc/passwd", {"passwd"}, {}}, {}, signals);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot start '/etc/passwd': Permission denied");
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "nothing is left of it";
}

}  // namespace
}  // namespace ronde::launch::detail
