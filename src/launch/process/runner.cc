#include "ronde/launch/process/runner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "ronde/launch/cluster/free_port.h"
#include "ronde/launch/place/place.h"
#include "ronde/launch/process/descendants.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/rank_environment.h"

namespace ronde::launch::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How long the output of processes that a rank left behind is waited for: a pipe into tee may still have lines.
constexpr auto kLinger = 1s;

// How wide a line may be so that it fits the terminal with its rank in front; where bars go, standard error, counts.
int columns_for(const Job& job) {
  if (!job.err.terminal || job.err.columns == 0) return 0;
  const int ranks = static_cast<int>(job.binding.ranks.size());
  return std::max(1, job.err.columns - prefix_width(ranks - 1) - 1);
}

}  // namespace

Runner::Runner(const Job& job, Start start)
    : job_(job),
      start_(std::move(start)),
      signals_({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}),
      server_(static_cast<int>(job.binding.ranks.size())),
      output_(job.out, job.err, static_cast<int>(job.binding.ranks.size()), job.display, start_.attempt > 1),
      escalation_(job.grace) {}

int Runner::run() {
  start_ranks();
  while (!finished()) watch_once(next_time());
  end_children(Deadline::after(5s));
  output_.finish();
  const auto& failure = verdict_.first_failure();
  output_.say(verdict_.last_words(job_.host, failure ? output_.last_lines(failure->rank) : std::vector<std::string>{},
                                  Paint(job_.err.color)));
  print_rest();
  return verdict_.exit_code();
}

void Runner::start_ranks() {
  const int port = free_port();
  const FileDescriptor null = open_null();
  for (const topology::RankBinding& binding : job_.binding.ranks)
    start_rank(binding, port, binding.rank == 0 ? STDIN_FILENO : null.get());
  dup2(null.get(), STDIN_FILENO);  // it is rank 0's alone: who writes to it must see when rank 0 is gone
}

void Runner::start_rank(const topology::RankBinding& binding, int master_port, int in) {
  const JobFacts facts{.id = start_.id,
                       .size = static_cast<int>(job_.binding.ranks.size()),
                       .master_port = master_port,
                       .bootstrap = server_.address(),
                       .attempt = start_.attempt,
                       .columns = columns_for(job_),
                       .horovod = job_.horovod,
                       .settings = job_.settings};
  const Program program{start_.program, job_.command, rank_environment(job_.environment, facts, binding)};
  Pipe out = Pipe::make(), err = Pipe::make();
  std::optional<Placed> placed;
  if (job_.binding.policy != topology::Policy::None) placed.emplace(binding);
  const pid_t pid = start_process(program, {in, out.write.get(), err.write.get()}, signals_);
  running_.emplace(pid, binding.rank);
  output_.add(binding.rank, std::move(out.read), std::move(err.read));
}

bool Runner::finished() const {
  return running_.empty() && (output_.ended() || guardian_lost_ || Clock::now() >= *last_end_ + kLinger);
}

void Runner::watch_once(std::optional<Time> until) {
  Poller poller;
  poller.add(signals_.descriptor(), POLLIN, [this] { take_signals(); });
  if (!guardian_lost_) poller.add(start_.lifeline, POLLIN, [this] { lost_guardian(); });
  output_.watch(poller);
  poller.wait(until);
  send(escalation_.tick(Clock::now()));
}

std::optional<Runner::Time> Runner::next_time() const {
  return running_.empty() ? *last_end_ + kLinger : escalation_.next();
}

void Runner::take_signals() {
  while (const auto signal = signals_.next()) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number == SIGCHLD) {
      reap(static_cast<pid_t>(signal->ssi_pid));
      continue;
    }
    if (number == SIGUSR1) {  // means something to the ranks, such as that time is nearly over, and nothing to us
      send(number);
      continue;
    }
    told_to_stop_ = true;
    verdict_.interrupted(number);
    send(escalation_.ask(number, Clock::now()));
  }
}

// Signals of several children melt into one, which names the first: so we know who failed first even when we come late.
void Runner::reap(pid_t first) {
  int status = 0;
  pid_t pid = waitpid(first, &status, WNOHANG);
  if (pid <= 0) pid = waitpid(-1, &status, WNOHANG);
  for (; pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    const auto ended = running_.find(pid);
    if (ended == running_.end()) continue;  // an orphan of some rank, which has come to us
    const int rank = ended->second;
    running_.erase(ended);
    rank_ended(rank, Outcome::from_status(status));
  }
}

void Runner::rank_ended(int rank, const Outcome& outcome) {
  last_end_ = Clock::now();
  verdict_.rank_ended(rank, outcome);
  server_.rank_ended(rank, describe(outcome));
  if (outcome.failed()) send(escalation_.begin(SIGTERM, Clock::now()));
}

void Runner::send(std::optional<int> signal) const {
  if (!signal) return;
  for (const auto& [pid, rank] : running_) kill(-pid, *signal);
}

void Runner::lost_guardian() {
  guardian_lost_ = true;
  verdict_.interrupted(SIGKILL);
  send(escalation_.kill());
}

// Whoever reads our output may be slow. A signal says that nobody wants the rest; one that has stopped the job, that
// nobody may be there to read it.
void Runner::print_rest() {
  std::optional<Time> end;
  if (told_to_stop_) end = Clock::now() + kLinger;
  told_to_stop_ = false;
  while (!output_.written() && !told_to_stop_ && !guardian_lost_ && !(end && Clock::now() >= *end)) watch_once(end);
}

}  // namespace ronde::launch::detail
