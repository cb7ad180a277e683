#include "ronde/launch/cluster/remote_runner.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "ronde/launch/process/descendants.h"
#include "ronde/launch/process/spawn.h"

namespace ronde::launch::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLinger = 1s;      // see Runner
constexpr auto kEndTimeout = 5s;  // with a launcher that was told to end
constexpr auto kReport = 2s;      // beyond the grace time, for a rank that has used it up to say so

}  // namespace

RemoteRunner::RemoteRunner(const RemoteJob& job, std::string program, int lifeline)
    : job_(job),
      program_(std::move(program)),
      lifeline_(lifeline),
      signals_({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}),
      output_(job.out, job.err, job.ranks, job.display, job.append),
      escalation_(job.grace + kReport),
      out_{{}, FrameReader({})},
      err_{{}, FrameReader({})} {
  const FrameReader::Takers takers{.bytes =
                                       [this](int rank, RankStream stream, std::string_view bytes) {
                                         if (rank < job_.ranks) output_.feed(rank, stream == RankStream::Err, bytes);
                                       },
                                   .end = [this](const RankEnd& end) { rank_ended(end); },
                                   .words = [this](std::string_view line) { launcher_said(line); }};
  out_.frames = FrameReader(takers);
  err_.frames = FrameReader(takers);
  for (int rank = 0; rank < job.ranks; ++rank) output_.add(rank, {}, {});
}

int RemoteRunner::run() {
  start();
  while (!finished()) watch_once(next_time());
  end_children(Deadline::after(5s));
  output_.finish();
  output_.say(last_words());
  print_rest();
  return exit_code();
}

void RemoteRunner::start() {
  Pipe out = Pipe::make(), err = Pipe::make();
  Program program{program_, job_.command, job_.environment.all()};
  for (const auto& [name, value] : job_.settings) program.environment[name] = value;
  pid_ = start_process(program, {STDIN_FILENO, out.write.get(), err.write.get()}, signals_);
  out_.pipe = std::move(out.read);
  err_.pipe = std::move(err.read);
  stop_blocking(out_.pipe.get());
  stop_blocking(err_.pipe.get());
  const FileDescriptor null = open_null();
  dup2(null.get(), STDIN_FILENO);  // it is the launcher's now
}

bool RemoteRunner::finished() const {
  const bool silent = !out_.pipe && !err_.pipe;
  return ended_ && (silent || guardian_lost_ || Clock::now() >= end_time_ + kLinger);
}

std::optional<RemoteRunner::Time> RemoteRunner::next_time() const {
  if (ended_) return end_time_ + kLinger;
  return kill_time_ ? kill_time_ : escalation_.next();
}

void RemoteRunner::watch_once(std::optional<Time> until) {
  Poller poller;
  poller.add(signals_.descriptor(), POLLIN, [this] { take_signals(); });
  if (!guardian_lost_) poller.add(lifeline_, POLLIN, [this] { lost_guardian(); });
  output_.watch(poller);
  for (Source* source : {&out_, &err_})
    if (source->pipe && !output_.full()) poller.add(source->pipe.get(), POLLIN, [this, source] { take_from(*source); });
  poller.wait(until);
  send(escalation_.tick(Clock::now()));
  if (kill_time_ && !ended_ && Clock::now() >= *kill_time_) kill(-pid_, SIGKILL);
}

void RemoteRunner::take_from(Source& source) {
  std::array<char, 64 << 10> bytes;
  const ssize_t got = read(source.pipe.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) return source.frames.add({bytes.data(), static_cast<std::size_t>(got)});
  source.pipe.close();
  source.frames.finish();
}

void RemoteRunner::take_signals() {
  while (const auto signal = signals_.next()) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number == SIGCHLD) {
      int status = 0;
      for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != pid_) continue;
        ended_ = Outcome::from_status(status);
        end_time_ = Clock::now();
      }
      continue;
    }
    if (number == SIGUSR1 && job_.passes_user_signal) {  // see Runner
      send(number);
      continue;
    }
    told_to_stop_ = true;
    verdict_.interrupted(number);
    send(escalation_.ask(job_.stop_signal, Clock::now()));
  }
}

// One that was told to stop is not the culprit. Ranks that have ended badly wait for us to end the launcher, which has
// no patience with those that are not done (see started_rank.cc).
void RemoteRunner::rank_ended(const RankEnd& end) {
  ended_ranks_.insert(end.rank);
  if (end.outcome.failed() && !end.stopped) {
    if (!verdict_.first_failure()) failed_host_ = end.host;
    verdict_.rank_ended(end.rank, end.outcome);
    send(escalation_.begin(job_.stop_signal, Clock::now()));
  }
  const bool stopping = verdict_.exit_code() != 0;
  if (stopping && ended_ranks_.size() == static_cast<std::size_t>(job_.ranks)) end_launcher();
}

void RemoteRunner::launcher_said(std::string_view line) {
  if (verdict_.first_failure() || told_to_stop_ || line.empty()) return;
  const bool names_itself = line.starts_with(job_.launcher);
  output_.say(fmt::format("{}{}\n", names_itself ? "" : job_.launcher + ": ", line));
}

// Escalation's SIGKILL means that time is over for the ranks. The launcher must live a little longer, to end them on
// other machines.
void RemoteRunner::send(std::optional<int> signal) {
  if (!signal || pid_ == 0 || ended_) return;
  if (*signal == SIGKILL) return end_launcher();
  kill(pid_, *signal);
}

void RemoteRunner::end_launcher() {
  if (ended_) return;
  kill(pid_, SIGTERM);
  if (!kill_time_) kill_time_ = Clock::now() + kEndTimeout;
}

void RemoteRunner::lost_guardian() {
  guardian_lost_ = true;
  verdict_.interrupted(SIGKILL);
  send(escalation_.kill());
}

std::vector<std::string> RemoteRunner::lost_hosts() const {
  return exit_code() == 0 ? std::vector<std::string>{} : silent_hosts(job_.hosts, ended_ranks_);
}

int RemoteRunner::exit_code() const {
  const int code = verdict_.exit_code();
  return code != 0 || !ended_ ? code : ended_->exit_code();
}

std::string RemoteRunner::last_words() const {
  const auto& failure = verdict_.first_failure();
  const Paint paint(job_.err.color);
  if (verdict_.exit_code() == 0 && ended_ && ended_->failed())
    return paint.red(fmt::format("{} failed: {}", job_.launcher, describe(*ended_))) + "\n";
  return verdict_.last_words(failed_host_, failure ? output_.last_lines(failure->rank) : std::vector<std::string>{},
                             paint);
}

void RemoteRunner::print_rest() {
  std::optional<Time> end;
  if (told_to_stop_) end = Clock::now() + kLinger;
  told_to_stop_ = false;
  while (!output_.written() && !told_to_stop_ && !guardian_lost_ && !(end && Clock::now() >= *end)) watch_once(end);
}

}  // namespace ronde::launch::detail
