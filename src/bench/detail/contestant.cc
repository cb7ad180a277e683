#include "ronde/bench/detail/contestant.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::bench::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 120s;  // the longest turn takes a few seconds
constexpr auto kEndTime = 5s;       // from the end of its input to its own end

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error::system(errno, "cannot create a pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<std::string> run_line(const Entrant& entrant) {
  std::vector<std::string> line{ronde_program(), "run", "-n", std::to_string(entrant.ranks), "--bind", "none"};
  line.insert(line.end(), {"--log-level", "error", "--launch-grace", "2s"});
  line.insert(line.end(), entrant.settings.begin(), entrant.settings.end());
  line.emplace_back("--");
  line.insert(line.end(), entrant.command.begin(), entrant.command.end());
  return line;
}

// Only what may be called between fork and exec.
[[noreturn]] void become(const std::vector<char*>& words, int in, int out, int err, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // `ronde run` then ends its ranks
  const bool wired = getppid() == parent && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0;
  if (wired) execv(words.front(), words.data());
  _exit(127);
}

pid_t start(const std::vector<std::string>& line, int in, int out, int err) {
  std::vector<char*> words;
  for (const std::string& word : line) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error::system(errno, "cannot start another process");
  if (child == 0) become(words, in, out, err, parent);
  return child;
}

// Who writes to a job that has ended wants an error and no signal.
class NoBrokenPipe {
 public:
  NoBrokenPipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() { std::signal(SIGPIPE, before_); }

 private:
  void (*before_)(int);
};

int poll_milliseconds(const Deadline& until) {
  const auto left = until.left();
  return left ? static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*left).count()) : -1;
}

}  // namespace

std::string ronde_program() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("ronde").string();
}

Contestant::Contestant(const Entrant& entrant) : name_(entrant.name) {
  Pipe in = make_pipe(), out = make_pipe();
  errors_ = FileDescriptor(memfd_create("ronde-bench", MFD_CLOEXEC));
  if (!errors_) throw Error::system(errno, "cannot create a file in memory");
  process_ = start(run_line(entrant), in.read.get(), out.write.get(), errors_.get());
  in_ = std::move(in.write);
  out_ = std::move(out.read);
}

Contestant::~Contestant() {
  signal_parked(SIGCONT);
  in_.close();
  if (has_ended_within(kEndTime)) return;
  kill(process_, SIGTERM);
  if (has_ended_within(2 * kEndTime)) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Contestant::wait_until_ready(Deadline until) {
  for (;;) {
    const std::string line = read_line(until);
    const auto words = split(line, ' ');
    if (words.front() == "missing")
      throw Error(Error::Kind::System, line.substr(std::min<std::size_t>(8, line.size())));
    if (words.front() != "ready") continue;  // launchers chat
    for (std::size_t i = 1; i < words.size(); ++i)
      if (const auto process = parse_number<pid_t>(words[i])) parked_.push_back(*process);
    return signal_parked(SIGSTOP);
  }
}

std::optional<Timing> Contestant::time(const Command& command) {
  signal_parked(SIGCONT);
  send_line(write_command(command));
  const std::string answer = read_line(Deadline::after(kAnswerTime));
  signal_parked(SIGSTOP);
  if (answer == "-") return {};
  const auto timing = read_timing(answer);
  if (!timing) throw Error(Error::Kind::System, fmt::format("{} answered '{}', which is not a time", name_, answer));
  return timing;
}

std::optional<double> Contestant::ask(const Command& command) {
  const auto timing = time(command);
  return timing ? std::optional(timing->us) : std::nullopt;
}

void Contestant::send_line(const std::string& line) {
  const NoBrokenPipe quiet;
  const std::string text = line + "\n";
  // A command is far shorter than what a pipe takes in one piece.
  if (write(in_.get(), text.data(), text.size()) < 0) throw Error(Error::Kind::System, last_words());
}

std::string Contestant::read_line(Deadline until) {
  for (;;) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      const std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      // `ronde run` puts "[0] " in front.
      const auto prefix = line.find("] ");
      return prefix == std::string::npos ? line : line.substr(prefix + 2);
    }
    pollfd wait{.fd = out_.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, poll_milliseconds(until)) == 0)
      throw Error(Error::Kind::Timeout, fmt::format("{} did not answer in time", name_));
    std::array<char, 4096> bytes{};
    const auto size = read(out_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) throw Error::system(errno, "cannot read the answer of {}", name_);
    if (size == 0) throw Error(Error::Kind::System, last_words());
    if (size > 0) read_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

// What its standard error says: the last line that looks like a cause, or else the last, where `ronde run` says who
// failed and how.
std::string Contestant::last_words() const {
  std::string text(8192, '\0');
  const auto end = lseek(errors_.get(), 0, SEEK_END);
  const auto size = pread(errors_.get(), text.data(), text.size(), std::max<off_t>(0, end - 8192));
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::string cause, last;
  for (const auto line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    if (line.find("Error") != line.npos || line.find("ronde: ") != line.npos) cause = trim(line);
    last = trim(line);
  }
  if (cause.starts_with("ronde: ")) cause.erase(0, 7);  // who says it, which we say again
  if (!cause.empty()) return cause;
  return last.empty() ? name_ + " ended without a message" : last;
}

void Contestant::signal_parked(int signal) const {
  for (const pid_t process : parked_) kill(process, signal);
}

bool Contestant::has_ended_within(std::chrono::milliseconds time) {
  const auto until = Deadline::after(time);
  while (waitpid(process_, nullptr, WNOHANG) == 0) {
    if (until.passed()) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

}  // namespace ronde::bench::detail
