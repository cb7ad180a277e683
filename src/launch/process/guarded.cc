#include "ronde/launch/process/guarded.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <set>
#include <string>

#include "ronde/launch/output/terminal_input.h"
#include "ronde/launch/process/descendants.h"
#include "ronde/launch/process/poller.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch::detail {
namespace {

constexpr auto kKillTime =
    std::chrono::seconds(5);  // a process that sits in the kernel may outlast SIGKILL for a while

// With one of these closed, a pipe would take its number and be mistaken for it.
void open_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", O_RDWR);
}

// An error on its way to the other process: its kind, then its message.
void write_error(int to, Error::Kind kind, const std::string& message) {
  const std::string text = static_cast<char>(kind) + message;
  [[maybe_unused]] const auto written = write(to, text.data(), text.size());
}

void throw_written_error(int from) {
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t got = 0; (got = read(from, bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(got));
  if (!text.empty()) throw Error(static_cast<Error::Kind>(text.front()), text.substr(1));
}

struct Ends {
  Pipe lifeline = Pipe::make();
  Pipe failure = Pipe::make();
  Pipe input = isatty(STDIN_FILENO) ? Pipe::make() : Pipe{};
};

[[noreturn]] void run_child(const std::function<int(int)>& work, Ends& ends, const Signals& signals) {
  signals.restore();
  setsid();  // not reached by what is meant for this process's group, SIGKILL included
  prctl(PR_SET_NAME, "launcher");
  ends.lifeline.write.close();
  ends.failure.read.close();
  ends.input.write.close();
  if (ends.input.read) dup2(ends.input.read.get(), STDIN_FILENO);
  const Subreaper subreaper;
  int code = 1;
  try {
    code = work(ends.lifeline.read.get());
  } catch (const Error& error) {
    write_error(ends.failure.write.get(), error.kind(), error.what());
  } catch (const std::exception& error) {
    write_error(ends.failure.write.get(), Error::Kind::System, error.what());
  }
  end_children(Deadline::after(kKillTime));
  std::fflush(nullptr);
  _exit(code);
}

// How the child ended, and which signals were passed on to it.
struct Watched {
  Outcome outcome;
  std::set<int> signals;
};

Watched watch(pid_t child, const Signals& signals, TerminalInput& input) {
  Watched watched;
  int status = 0;
  bool running = true;
  const auto take_signals = [&] {
    while (const auto signal = signals.next()) {
      const int number = static_cast<int>(signal->ssi_signo);
      if (number == SIGCHLD) {
        running = running && waitpid(child, &status, WNOHANG) != child;
      } else if (running) {
        kill(child, number);
        watched.signals.insert(number);
      }
    }
  };
  while (running) {
    Poller poller;
    poller.add(signals.descriptor(), POLLIN, take_signals);
    poller.wait(input.watch(poller));
  }
  watched.outcome = Outcome::from_status(status);
  return watched;
}

}  // namespace

int guarded(const std::function<int(int lifeline)>& work, bool* signalled) {
  open_standard_descriptors();
  const Subreaper subreaper;
  const Signals signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1});
  Ends ends;
  std::fflush(nullptr);  // or both processes would write it
  const pid_t child = fork();
  if (child < 0) throw Error::system(errno, "cannot start the launcher's own process");
  if (child == 0) run_child(work, ends, signals);
  ends.lifeline.read.close();
  ends.failure.write.close();
  ends.input.read.close();
  TerminalInput input(std::move(ends.input.write));
  const Watched watched = watch(child, signals, input);
  if (signalled) *signalled = !watched.signals.empty();
  end_children(Deadline::after(kKillTime));
  throw_written_error(ends.failure.read.get());
  const Outcome& outcome = watched.outcome;
  if (outcome.signal != 0 && !watched.signals.contains(outcome.signal))
    throw Error(Error::Kind::System,
                fmt::format("the launcher was ended by {}; all processes that it had started are stopped",
                            name_of_signal(outcome.signal)));
  return outcome.exit_code();
}

}  // namespace ronde::launch::detail
