#include "ronde/launch/process/spawn.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "ronde/base/text/text.h"

namespace ronde::launch::detail {
namespace {

constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";

bool is_executable(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// The form that execve takes; the texts must outlive it.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// All that the child needs, made before the fork: between fork and exec only system calls are allowed, for another
// thread may hold any lock.
struct Start {
  const char* path;
  char** arguments;
  char** environment;
  Wiring wiring;
  const Signals& signals;
  pid_t launcher;
  int report;
};

[[noreturn]] void become(const Start& start) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.launcher) _exit(1);  // it died before we asked to die with it
  dup2(start.wiring.in, STDIN_FILENO);
  dup2(start.wiring.out, STDOUT_FILENO);
  dup2(start.wiring.err, STDERR_FILENO);
  start.signals.restore();
  execve(start.path, start.arguments, start.environment);
  const int number = errno;
  [[maybe_unused]] const auto written = write(start.report, &number, sizeof(number));
  _exit(127);
}

// The number of the error that kept a child from starting its program; 0 once the program runs, since exec closes the
// pipe.
int hear_from(int report) {
  int number = 0;
  while (read(report, &number, sizeof(number)) < 0 && errno == EINTR) continue;
  return number;
}

}  // namespace

std::string find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
    if (std::filesystem::exists(name)) throw Error::bad_input("'{}' is not an executable program", name);
    throw Error::bad_input("command not found: {}", name);
  }
  const std::string path = environment.get("PATH").value_or(kUsualPath);
  for (const std::string_view folder : split(path, ':')) {
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (!name.empty() && is_executable(candidate)) return candidate;
  }
  throw Error::bad_input("command not found: {}", name);
}

pid_t start_process(const Program& program, const Wiring& wiring, const Signals& signals) {
  std::vector<std::string> arguments = program.arguments, environment;
  for (const auto& [name, value] : program.environment) environment.push_back(fmt::format("{}={}", name, value));
  auto argument_list = pointers(arguments), environment_list = pointers(environment);
  Pipe report = Pipe::make();
  const Start start{program.path.c_str(), argument_list.data(), environment_list.data(), wiring, signals, getpid(),
                    report.write.get()};
  const pid_t pid = fork();
  if (pid < 0) throw Error::system(errno, "cannot start another process");
  if (pid == 0) become(start);
  report.write.close();
  if (const int number = hear_from(report.read.get()); number != 0) {
    waitpid(pid, nullptr, 0);
    throw Error::bad_input("cannot start '{}': {}", program.path, std::generic_category().message(number));
  }
  return pid;
}

}  // namespace ronde::launch::detail
