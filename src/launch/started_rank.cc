#include "ronde/launch/started_rank.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>

#include "ronde/launch/detail/descendants.h"
#include "ronde/launch/detail/frames.h"
#include "ronde/launch/detail/lines.h"
#include "ronde/launch/detail/poller.h"
#include "ronde/launch/detail/signals.h"
#include "ronde/launch/detail/spawn.h"
#include "ronde/launch/outcome.h"
#include "ronde/topology/affinity.h"
#include "ronde/topology/draw.h"

namespace ronde::launch {
namespace {

using namespace std::chrono_literals;
using namespace detail;
using Clock = std::chrono::steady_clock;

constexpr auto kLinger = 1s;  // as Runner waits for the output of processes that a rank has left behind

// A launcher that reads slowly makes us wait here, and the rank when it writes. One that is gone kills us.
void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(to, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Where output goes.
class Way {
 public:
  virtual ~Way() = default;
  virtual void take(RankStream stream, std::string_view bytes) = 0;
  virtual void end(const RankEnd& end) = 0;
};

// In packet mode a pipe gives its reader exactly what was written at once, so that a launcher that takes pieces of
// what it reads takes whole frames. What is no pipe stays as it is.
class FrameWay : public Way {
 public:
  explicit FrameWay(int rank) : rank_(rank) { fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_DIRECT); }

  void take(RankStream stream, std::string_view bytes) override {
    frames_.clear();
    add_frames(rank_, stream, bytes, frames_);
    for (std::string_view left = frames_; !left.empty();) {
      const auto frame = left.substr(0, std::min(whole_frames(left), left.size()));
      write_all(STDERR_FILENO, frame);
      left.remove_prefix(frame.size());
    }
  }
  void end(const RankEnd& end) override { write_all(STDERR_FILENO, end_frame(end)); }

 private:
  // As many as fit into one write, so that much output needs few.
  static std::size_t whole_frames(std::string_view frames) {
    if (frames.size() <= kLongestFrame) return frames.size();
    return frames.rfind('\n', kLongestFrame - 1) + 1;
  }

  int rank_;
  std::string frames_;
};

class LineWay : public Way {
 public:
  explicit LineWay(int rank) : rank_(rank) {}

  void take(RankStream stream, std::string_view bytes) override {
    std::string text;
    const auto keep = [&](std::string_view line, LineEnd end) { prefixer_.write(rank_, line, end, text); };
    LineSplitter& lines = stream == RankStream::Out ? out_ : err_;
    bytes.empty() ? lines.finish(keep) : lines.add(bytes, keep);
    write_all(stream == RankStream::Out ? STDOUT_FILENO : STDERR_FILENO, text);
  }
  void end(const RankEnd& end) override {
    if (end.outcome.failed() && !end.stopped)
      write_all(STDERR_FILENO, fmt::format("rank {} on {} failed: {}\n", end.rank, end.host, describe(end.outcome)));
  }

 private:
  int rank_;
  Prefixer prefixer_{{}};
  LineSplitter out_, err_;
};

// The program while it runs.
class Watch {
 public:
  Watch(pid_t pid, Pipe out, Pipe err, const Signals& signals, Way& way)
      : pid_(pid), out_(std::move(out.read)), err_(std::move(err.read)), signals_(signals), way_(way) {}

  RankEnd run() {
    while (!ended_ || ((out_ || err_) && Clock::now() < *ended_ + kLinger)) {
      Poller poller;
      poller.add(signals_.descriptor(), POLLIN, [this] { take_signals(); });
      if (out_) poller.add(out_.get(), POLLIN, [this] { take(RankStream::Out, out_); });
      if (err_) poller.add(err_.get(), POLLIN, [this] { take(RankStream::Err, err_); });
      poller.wait(ended_ ? std::optional(*ended_ + kLinger) : std::nullopt);
    }
    if (out_) way_.take(RankStream::Out, {});
    if (err_) way_.take(RankStream::Err, {});
    return {.rank = 0, .outcome = outcome_, .stopped = asked_ && asked_ == outcome_.signal, .host = ""};
  }

 private:
  void take(RankStream stream, FileDescriptor& pipe) {
    std::array<char, 64 << 10> bytes;
    const ssize_t got = read(pipe.get(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) pipe.close();
    way_.take(stream, {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
  }

  void take_signals() {
    while (const auto signal = signals_.next()) {
      const int number = static_cast<int>(signal->ssi_signo);
      if (number == SIGCHLD) {
        reap();
        continue;
      }
      if (number == SIGTERM || number == SIGINT) asked_ = number;
      if (!ended_) kill(-pid_, number);
    }
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != pid_) continue;
      outcome_ = Outcome::from_status(status);
      ended_ = Clock::now();
    }
  }

  pid_t pid_;
  FileDescriptor out_, err_;
  const Signals& signals_;
  Way& way_;
  Outcome outcome_;
  std::optional<Clock::time_point> ended_ = {};
  int asked_ = 0;  // the signal by which the launcher wanted an end
};

}  // namespace

namespace {

// Binds this thread, which the program inherits, and says what it starts with.
Program prepare(const StartedRank& rank, Way& way) {
  const topology::Machine machine = topology::discover();
  topology::BindingRequest request = rank.binding;
  request.ranks = rank.place.local_size;
  const topology::BindingPlan plan = topology::plan_binding(machine, request);
  const topology::RankBinding& binding = plan.ranks[static_cast<std::size_t>(rank.place.local_rank)];
  if (rank.place.local_rank == 0) {  // once a machine
    for (const std::string& warning : rank.warn ? plan.warnings : std::vector<std::string>{})
      way.take(RankStream::Err, fmt::format("{}: warning: {}\n", rank.host, warning));
    if (rank.verbose)
      way.take(RankStream::Err, fmt::format("ranks of {}, from {} on:\n{}", rank.host,
                                            rank.place.rank - rank.place.local_rank, topology::draw(plan)));
  }
  if (plan.policy != topology::Policy::None) topology::bind_this_thread(binding.cpus);
  const auto command = in_container(rank.container, rank.command, !machine.gpus.empty(), rank.environment);
  return {find_program(command.front(), rank.environment), command,
          started_environment(rank.environment, rank.place, rank.master, binding)};
}

}  // namespace

int run_started_rank(const StartedRank& rank) {
  std::unique_ptr<Way> way;
  if (rank.relay)
    way = std::make_unique<FrameWay>(rank.place.rank);
  else
    way = std::make_unique<LineWay>(rank.place.rank);
  const Subreaper subreaper;
  const Signals signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
  Pipe out = Pipe::make(), err = Pipe::make();
  RankEnd end{.rank = rank.place.rank, .outcome = {}, .host = rank.host};
  try {
    const Program program = prepare(rank, *way);
    const pid_t pid = start_process(program, {STDIN_FILENO, out.write.get(), err.write.get()}, signals);
    out.write.close();
    err.write.close();
    const RankEnd seen = Watch(pid, std::move(out), std::move(err), signals, *way).run();
    end.outcome = seen.outcome;
    end.stopped = seen.stopped;
  } catch (const Error& error) {
    way->take(RankStream::Err, fmt::format("ronde: {}\n", error.what()));
    end.outcome.code = error.exit_code();
  }
  end_children(Deadline::after(5s));
  way->end(end);
  return end.outcome.exit_code();
}

}  // namespace ronde::launch
