#include "ronde/launch/run/started_rank.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>

#include "ronde/launch/output/frames.h"
#include "ronde/launch/output/lines.h"
#include "ronde/launch/place/place.h"
#include "ronde/launch/place/visible_gpus.h"
#include "ronde/launch/process/descendants.h"
#include "ronde/launch/process/escalation.h"
#include "ronde/launch/process/poller.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"
#include "ronde/topology/draw.h"

namespace ronde::launch {
namespace {

using namespace std::chrono_literals;
using namespace detail;
using Clock = std::chrono::steady_clock;

constexpr auto kSettle = 5s;  // for `ronde run` to see that all ranks have ended
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

// In packet mode a pipe gives its reader exactly what was written at once, so that a launcher that passes on pieces as
// it reads them passes on whole frames. It must read at least a frame at once, or the rest is lost: mpirun reads 4 KiB,
// hydra 64 KiB, srun less; but srun passes on whole lines anyway. What is no pipe stays as it is.
class FrameWay : public Way {
 public:
  FrameWay(int rank, bool packets) : rank_(rank) {
    if (packets) fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_DIRECT);
  }

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

bool is_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == kStopSignal;
}

// Launchers kill all ranks within a second once one has ended in a way that they do not like. So that the others have
// their time to tidy up, we stay until `ronde run`, which has heard how this rank ended, says that all is over: that is
// the second time that it tells us to stop.
void hold(int stops, const Signals& signals, Deadline until) {
  while (stops < 2 && !until.passed()) {
    Poller poller;
    poller.add(signals.descriptor(), POLLIN, [&] {
      while (const auto signal = signals.next()) stops += is_stop(static_cast<int>(signal->ssi_signo)) ? 1 : 0;
    });
    poller.wait(until.at());
  }
}

// The program while it runs.
class Watch {
 public:
  Watch(pid_t pid, Pipe out, Pipe err, const Signals& signals, const StartedRank& rank, Way& way)
      : pid_(pid),
        out_(std::move(out.read)),
        err_(std::move(err.read)),
        signals_(signals),
        relay_(rank.relay),
        escalation_(rank.grace),
        way_(way) {}

  RankEnd run() {
    while (!ended_ || ((out_ || err_) && Clock::now() < *ended_ + kLinger)) {
      Poller poller;
      poller.add(signals_.descriptor(), POLLIN, [this] { take_signals(); });
      if (out_) poller.add(out_.get(), POLLIN, [this] { take(RankStream::Out, out_); });
      if (err_) poller.add(err_.get(), POLLIN, [this] { take(RankStream::Err, err_); });
      poller.wait(ended_ ? std::optional(*ended_ + kLinger) : escalation_.next());
      if (escalation_.tick(Clock::now()) && !ended_) kill(-pid_, SIGKILL);
    }
    if (out_) way_.take(RankStream::Out, {});
    if (err_) way_.take(RankStream::Err, {});
    const bool by_stop = outcome_.signal == SIGTERM || outcome_.signal == SIGKILL;
    return {.rank = 0, .outcome = outcome_, .stopped = stops_ > 0 && by_stop, .host = ""};
  }

  int stops() const { return stops_; }

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
      const bool stop = is_stop(number);
      stops_ += stop ? 1 : 0;
      if (stop && relay_) escalation_.begin(number, Clock::now());
      if (!ended_) kill(-pid_, stop ? SIGTERM : number);
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
  bool relay_;
  Escalation escalation_;  // with `ronde run`, which takes a machine that does not report in time for lost
  Way& way_;
  Outcome outcome_;
  std::optional<Clock::time_point> ended_ = {};
  int stops_ = 0;  // how often we were told to stop
};

}  // namespace

namespace {

// Binds this thread, which the program inherits, and says what it starts with.
Program prepare(const StartedRank& rank, Way& way, std::optional<Placed>& placed) {
  const topology::Machine machine = with_visible_gpus(topology::discover(), rank.environment);
  topology::BindingRequest request = rank.binding;
  request.ranks = rank.place.local_size;
  const topology::BindingPlan plan = topology::plan_binding(machine, request);
  const topology::RankBinding& binding = plan.ranks[static_cast<std::size_t>(rank.place.local_rank)];
  if (rank.place.local_rank == 0) {  // once a machine
    for (const std::string& warning : rank.warn ? plan.warnings : std::vector<std::string>{})
      way.take(RankStream::Err, fmt::format("{}: warning: {}\n", rank.host, warning));
    if (rank.verbose)
      way.take(RankStream::Err, fmt::format("ranks of {}, numbered from {}:\n{}", rank.host,
                                            rank.place.rank - rank.place.local_rank, topology::draw(plan)));
  }
  if (plan.policy != topology::Policy::None) placed.emplace(binding);
  const auto command = in_container(rank.container, rank.command, !machine.gpus.empty(), rank.environment);
  return {find_program(command.front(), rank.environment), command,
          started_environment(rank.environment, rank.place,
                              {rank.master, rank.attempt, rank.settings, rank.host, rank.horovod_path}, binding)};
}

}  // namespace

int run_started_rank(const StartedRank& rank) {
  std::unique_ptr<Way> way;
  if (rank.relay)
    way = std::make_unique<FrameWay>(rank.place.rank, rank.packets);
  else
    way = std::make_unique<LineWay>(rank.place.rank);
  const Subreaper subreaper;
  const Signals signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
  // srun passes signals on to everything that it has started, the program included, which would die of this one. We
  // still see it: Linux keeps a blocked signal even when it is ignored.
  if (rank.relay) std::signal(kStopSignal, SIG_IGN);
  Pipe out = Pipe::make(), err = Pipe::make();
  RankEnd end{.rank = rank.place.rank, .outcome = {}, .host = rank.host};
  int stops = 0;
  try {
    std::optional<Placed> placed;
    const Program program = prepare(rank, *way, placed);
    const pid_t pid = start_process(program, {STDIN_FILENO, out.write.get(), err.write.get()}, signals);
    out.write.close();
    err.write.close();
    Watch watch(pid, std::move(out), std::move(err), signals, rank, *way);
    const RankEnd seen = watch.run();
    stops = watch.stops();
    end.outcome = seen.outcome;
    end.stopped = seen.stopped;
  } catch (const Error& error) {
    way->take(RankStream::Err, fmt::format("ronde: {}\n", error.what()));
    end.outcome.code = error.exit_code();
  }
  end_children(Deadline::after(5s));
  way->end(end);
  const bool disliked = end.outcome.exit_code() != 0;  // by launchers
  if (rank.relay && (disliked || stops > 0)) hold(stops, signals, Deadline::after(rank.grace + kSettle));
  return end.outcome.exit_code();
}

}  // namespace ronde::launch
