#include "ronde/tune/run/runner.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/wait.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/launch/run/outcome.h"
#include "ronde/tune/output/trial_files.h"
#include "ronde/tune/run/line_socket.h"

namespace ronde::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(200);    // for a signal, and for what other jobs have written
constexpr auto kGrace = std::chrono::milliseconds(2000);  // for processes at the end
constexpr int kDeathsInARow = 3;  // of processes that have not finished anything: something is wrong with all

struct Slot {
  pid_t pid = -1;
  LineSocket socket;
  int trial = -1;                // that runs; -1: none
  Clock::time_point start;       // of this attempt
  Clock::time_point heard;       // the last report
  bool ends_paused = false;      // it was told to pause
  std::optional<int> waits_for;  // it exploits this trial, whose checkpoint is not there yet
};

class Run {
 public:
  Run(RecordedSearch& search, const RunOptions& options)
      : search_(search), options_(options), begin_(Clock::now()), slots_(static_cast<std::size_t>(options.slots)) {}

  ~Run() { end_workers(); }

  RunEnd go() {
    for (;;) {
      fill_slots();
      if (is_finished()) return finish(RunEnd::Finished);
      if (options_.time_budget.count() > 0 && Clock::now() - begin_ >= options_.time_budget) {
        end_all_trials();
        return finish(RunEnd::TimeIsOver);
      }
      if ((options_.deadline.count() > 0 && Clock::now() - begin_ >= options_.deadline) ||
          (options_.interrupted && options_.interrupted()))
        return finish(RunEnd::ToContinue);
      wait();
      look_for_silent_trials();
      show(false);
    }
  }

 private:
  void warn(const std::string& text) const {
    if (options_.warn) options_.warn(text);
  }

  const Trial& trial(int number) const { return search_.search().trials()[static_cast<std::size_t>(number)]; }

  // --- Slots
  // -----------------------------------------------------------------------------------------------------------

  void fill_slots() {
    if (is_over_) return;
    for (Slot& slot : slots_) {
      if (slot.trial >= 0) continue;
      if (!is_changed_) return;  // the answer would be the same
      const Search::Next next = search_.next();
      is_changed_ = next.trial >= 0;
      has_finished_ = next.kind == Search::Next::Kind::Finished;
      if (next.trial < 0) return;
      start(slot, next.trial);
    }
  }

  bool is_finished() const {
    return (has_finished_ || is_over_) && std::ranges::all_of(slots_, [](const Slot& slot) { return slot.trial < 0; });
  }

  void start(Slot& slot, int number) {
    if (slot.pid < 0) {
      WorkerProcess process = options_.start_worker(static_cast<int>(&slot - slots_.data()));
      slot.pid = process.pid;
      slot.socket = LineSocket(std::move(process.socket));
    }
    const Trial& started = trial(number);
    const auto folder = trial_folder(options_.folder, started);
    files_.start(folder, started);
    slot.trial = number;
    slot.start = slot.heard = Clock::now();
    slot.ends_paused = false;
    slot.waits_for.reset();
    slot.socket.send({{"op", "run"},
                      {"trial", number},
                      {"config", started.config},
                      {"folder", folder.string()},
                      {"checkpoint", started.checkpoint},
                      {"iteration", started.reports}});  // a process that is gone is noticed when its socket is read
  }

  // --- Waiting
  // ---------------------------------------------------------------------------------------------------------

  void wait() {
    std::vector<pollfd> waits;
    std::vector<Slot*> waiting;
    for (Slot& slot : slots_)
      if (slot.pid >= 0) {
        waits.push_back({slot.socket.descriptor(), POLLIN, 0});
        waiting.push_back(&slot);
      }
    if (::poll(waits.data(), waits.size(), static_cast<int>(kLook.count())) <= 0) {
      search_.refresh();  // other jobs may have ended, and left trials behind
      is_changed_ = true;
      return;
    }
    for (std::size_t i = 0; i < waits.size(); ++i)
      if (waits[i].revents != 0) read(*waiting[i]);
  }

  void read(Slot& slot) {
    const bool lives = slot.socket.fill();
    try {
      while (const auto message = slot.socket.take()) handle(slot, *message);
    } catch (const Error& error) {
      kill(slot);
      return lose(slot, fmt::format("its process sent what is no message: {}", error.message()));
    }
    if (!lives) bury(slot);
  }

  void look_for_silent_trials() {
    if (options_.trial_timeout.count() <= 0) return;
    for (Slot& slot : slots_)
      if (slot.trial >= 0 && !slot.waits_for && Clock::now() - slot.heard >= options_.trial_timeout) {
        kill(slot);
        lose(slot, fmt::format("no report for {:.1f} s (tune.trial_timeout)",
                               std::chrono::duration<double>(options_.trial_timeout).count()));
      }
  }

  // --- Messages
  // --------------------------------------------------------------------------------------------------------

  void handle(Slot& slot, const Json& message) {
    const std::string op = message.value("op", "");
    if (slot.trial < 0) return;
    slot.heard = Clock::now();
    deaths_ = 0;
    if (op == "report") return report(slot, message);
    if (op == "saved") return saved(slot, message.value("checkpoint", ""));
    if (op == "ended") return ended(slot);
    if (op == "failed") return lose(slot, message.value("error", "it did not say why"));
    throw Error::bad_input("'{}'", op);
  }

  void report(Slot& slot, const Json& message) {
    const int number = slot.trial;
    const double seconds = std::chrono::duration<double>(Clock::now() - slot.start).count();
    Json result = search_.search().filled_in(number, message.at("result"), seconds);
    result["timestamp"] = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    if (options_.stops && options_.stops(trial(number), result)) result["done"] = true;
    const Decision decision = search_.report(number, result, seconds);
    is_changed_ = true;
    if (const std::string checkpoint = message.value("checkpoint", ""); !checkpoint.empty()) saved(slot, checkpoint);
    files_.write(trial(number), result);
    if (options_.stops && options_.stops(trial(number), Json())) is_over_ = true;
    for (const auto& change : search_.changes()) take_change(change);
    answer(slot, decision);
  }

  void answer(Slot& slot, const Decision& decision) {
    switch (decision.kind) {
      case Decision::Kind::Continue: slot.socket.send({{"op", "go"}, {"save", decision.save}}); return;
      case Decision::Kind::Pause:
        slot.ends_paused = true;
        slot.socket.send({{"op", "pause"}});
        return;
      case Decision::Kind::Stop: slot.socket.send({{"op", "stop"}}); return;
      case Decision::Kind::Exploit: exploit(slot, decision.source); return;
    }
  }

  // The source's checkpoint may be on its way.
  void exploit(Slot& slot, int source) {
    const bool is_saving = std::ranges::any_of(slots_, [&](const Slot& other) { return other.trial == source; });
    if (trial(source).checkpoint.empty() && is_saving) {
      slot.waits_for = source;
      return;
    }
    slot.waits_for.reset();
    files_.start(trial_folder(options_.folder, trial(slot.trial)), trial(slot.trial));
    slot.socket.send(
        {{"op", "exploit"}, {"config", trial(slot.trial).config}, {"checkpoint", trial(source).checkpoint}});
  }

  // About a trial that does not run: the next time, it starts from the other's weights.
  void take_change(const Search::Change& change) {
    if (change.decision.kind == Decision::Kind::Exploit && change.decision.source >= 0)
      search_.saved(change.trial, trial(change.decision.source).checkpoint);
    if (change.decision.kind == Decision::Kind::Stop) files_.end(trial(change.trial));
  }

  void saved(Slot& slot, const std::string& checkpoint) {
    search_.saved(slot.trial, checkpoint);
    for (Slot& other : slots_)
      if (other.waits_for == slot.trial) exploit(other, slot.trial);
  }

  void ended(Slot& slot) {
    const int number = slot.trial;
    slot.trial = -1;
    is_changed_ = true;
    if (slot.ends_paused) return search_.paused(number);
    search_.ended(number);
    files_.end(trial(number));
    for (const auto& change : search_.changes()) take_change(change);
    release(number);
  }

  // --- Failures
  // --------------------------------------------------------------------------------------------------------

  void lose(Slot& slot, const std::string& error) {
    const int number = std::exchange(slot.trial, -1);
    is_changed_ = true;
    const bool again = search_.failed(number, error);
    files_.fail(trial_folder(options_.folder, trial(number)), error);
    if (!again) files_.end(trial(number));
    warn(fmt::format("trial {} failed{}: {}", number, again ? " and is started again" : "", error));
    for (const auto& change : search_.changes()) take_change(change);
    release(number);
  }

  // Those that were to take over its weights go on with what it has saved before, or with their own.
  void release(int source) {
    for (Slot& slot : slots_)
      if (slot.waits_for == source) exploit(slot, source);
  }

  void kill(Slot& slot) {
    if (slot.pid < 0) return;
    ::kill(slot.pid, SIGKILL);
    reap(slot, 0);
  }

  launch::Outcome reap(Slot& slot, int flags) {
    int status = 0;
    while (::waitpid(slot.pid, &status, flags) < 0 && errno == EINTR) {
    }
    slot.pid = -1;
    slot.socket = LineSocket();
    return launch::Outcome::from_status(status);
  }

  void bury(Slot& slot) {
    ::kill(slot.pid, SIGKILL);  // it has closed its socket, whatever else it does
    const launch::Outcome outcome = reap(slot, 0);
    if (++deaths_ >= kDeathsInARow * options_.slots)
      throw Error(Error::Kind::System, fmt::format("the processes that run trials end at once: {}", describe(outcome)));
    if (slot.trial >= 0) lose(slot, fmt::format("its process ended: {}", describe(outcome)));
  }

  // --- The end
  // ---------------------------------------------------------------------------------------------------------

  void end_all_trials() {
    stop_busy_workers();
    for (Slot& slot : slots_)
      if (slot.trial >= 0) {
        search_.ended(slot.trial);
        files_.end(trial(std::exchange(slot.trial, -1)));
      }
  }

  RunEnd finish(RunEnd how) {
    show(true);
    end_workers();
    return how;
  }

  // One in the middle of a trial will not read what is said to it, but may notice that its socket is closed.
  void stop_busy_workers() {
    const auto is_busy = [](const Slot& slot) { return slot.pid >= 0 && slot.trial >= 0; };
    for (Slot& slot : slots_)
      if (is_busy(slot)) slot.socket.hang_up();
    const auto until = Clock::now() + options_.grace;
    for (Slot& slot : slots_)
      if (is_busy(slot)) await_end(slot, until);
  }

  void end_workers() {
    for (Slot& slot : slots_)
      if (slot.pid >= 0 && slot.trial < 0) slot.socket.send({{"op", "exit"}});
    stop_busy_workers();
    const auto until = Clock::now() + kGrace;
    for (Slot& slot : slots_)
      if (slot.pid >= 0) await_end(slot, until);
  }

  // Kills what has not ended by then.
  void await_end(Slot& slot, Clock::time_point until) {
    while (Clock::now() < until) {
      int status = 0;
      if (::waitpid(slot.pid, &status, WNOHANG) != 0) {
        slot.pid = -1;
        slot.socket = LineSocket();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(slot);
  }

  void show(bool is_end) {
    if (!options_.show || (!is_end && Clock::now() - shown_ < options_.show_every)) return;
    shown_ = Clock::now();
    options_.show(search_.search(), is_end);
  }

  RecordedSearch& search_;
  const RunOptions& options_;
  const Clock::time_point begin_;
  Clock::time_point shown_{};
  std::vector<Slot> slots_;
  TrialFiles files_{[this](const std::string& text) { warn(text); }};
  bool is_changed_ = true;     // since the search was last asked for a trial
  bool has_finished_ = false;  // it said that there are no more
  bool is_over_ = false;       // the program's own criteria have ended it
  int deaths_ = 0;             // of processes, since one of them said something
};

}  // namespace

std::filesystem::path trial_folder(const std::filesystem::path& search, const Trial& trial) {
  return search / fmt::format("trial_{:05d}", trial.number);
}

RunEnd run_search(RecordedSearch& search, const RunOptions& options) {
  std::filesystem::create_directories(options.folder);
  return Run(search, options).go();
}

}  // namespace ronde::tune
