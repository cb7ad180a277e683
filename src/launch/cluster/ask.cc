#include "ronde/launch/cluster/ask.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "ronde/launch/process/descriptor.h"
#include "ronde/launch/process/poller.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch {
namespace {

constexpr std::size_t kLongestAnswer = 1 << 20;

// All that comes until the other end is closed; nothing when that takes too long.
std::optional<std::string> read_all(int from, std::chrono::steady_clock::time_point until) {
  std::string text;
  for (bool open = true; open && text.size() < kLongestAnswer;) {
    bool ready = false;
    detail::Poller poller;
    poller.add(from, POLLIN, [&] { ready = true; });
    poller.wait(until);
    if (!ready && std::chrono::steady_clock::now() >= until) return {};
    if (!ready) continue;
    std::array<char, 4096> bytes;
    const ssize_t got = read(from, bytes.data(), bytes.size());
    open = got > 0 || (got < 0 && errno == EINTR);
    if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::optional<std::string> find_on_path(const std::string& program, const Environment& environment) {
  try {
    return detail::find_program(program, environment);
  } catch (const Error&) {
    return {};
  }
}

std::optional<std::string> ask_program(const std::vector<std::string>& command, const Environment& environment,
                                       std::chrono::nanoseconds timeout) {
  const auto path = find_on_path(command.front(), environment);
  if (!path) return {};
  const auto until = std::chrono::steady_clock::now() + std::chrono::ceil<std::chrono::milliseconds>(timeout);
  detail::Pipe answer = detail::Pipe::make();
  const FileDescriptor null = detail::open_null();
  pid_t pid = 0;
  try {
    const detail::Signals signals({});
    pid = detail::start_process({*path, command, environment.all()},
                                {null.get(), answer.write.get(), answer.write.get()}, signals);
  } catch (const Error&) {
    return {};
  }
  answer.write.close();
  const auto text = read_all(answer.read.get(), until);
  kill(-pid, SIGKILL);  // it has closed its output, so it is done; or it takes too long
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return text;
}

std::vector<Launcher> find_launchers(const Environment& environment) {
  std::vector<Launcher> found;
  for (const std::string_view name : launcher_names()) {
    const auto path = find_on_path(std::string(name), environment);
    if (!path) continue;
    auto launcher = identify_launcher(*path, ask_program({*path, "--version"}, environment).value_or(""));
    if (!launcher) continue;
    if (launcher->kind == LauncherKind::Srun)
      launcher->mpi_types = ask_program({*path, "--mpi=list"}, environment).value_or("");
    found.push_back(std::move(*launcher));
  }
  return found;
}

}  // namespace ronde::launch
