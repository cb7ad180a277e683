#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/data/pipeline/run.h"
#include "ronde/data/pipeline/stage_stats.h"
#include "ronde/trace/recorder.h"

namespace ronde::data {

struct StageOptions {
  std::string name = "map";
  bool ordered = true;   // false: what is ready first comes first
  bool waits = false;    // its threads mostly wait for something else than a core
  int threads = 1;       // at the start
  std::size_t room = 2;  // runs that may be inside or finished; 1 at least
  // Whoever takes what comes out has no use for less than a batch, and is not woken for it. Needs order, and room for
  // all runs of a batch.
  bool whole_batches = false;
  trace::Recorder* recorder = nullptr;
};

// A step of a pipeline that several threads take at once: each pulls a run from the step before, works on it, and puts
// it where its place in the order is. next() belongs to one thread; everything else may be called from any.
class Stage : public Stream {
 public:
  using Work = std::function<void(Run&)>;

  // REQUIRES: `stop` is asked to stop before the stage goes.
  Stage(StageOptions options, std::unique_ptr<Stream> from, Work work, std::stop_token stop);
  ~Stage() override;

  // Once, before next(). FAILS WITH: what std::thread fails with, when there is not even one.
  void start();
  std::optional<Run> next() override;

  void set_threads(int threads);
  void set_room(std::size_t room);
  StageStats stats() const;

 private:
  struct Slot {
    bool done = false;
    Run run = {};
    std::exception_ptr failure = nullptr;
  };
  struct Taken {
    std::uint64_t ticket = 0;
    Run run;
  };
  struct Sums {
    std::atomic<std::int64_t> busy{0}, input{0}, room{0}, runs{0}, samples{0}, bytes{0};
  };

  void serve(int number);
  std::optional<Taken> take();
  bool wait_for_room();
  bool ready() const RONDE_REQUIRES(mutex_);
  std::optional<Run> pull() RONDE_REQUIRES(input_);
  void finish(std::uint64_t ticket, Slot slot);
  void work_on(Taken taken);

  const StageOptions options_;
  const std::unique_ptr<Stream> from_;
  const Work work_;
  const std::stop_token stop_;
  const trace::Name span_;
  Sums sums_;

  Mutex input_;                                     // held by who pulls from the step before
  bool for_room_ RONDE_GUARDED_BY(input_) = false;  // who had it last was waiting for room rather than for input

  mutable Mutex mutex_;
  std::condition_variable_any filled_, emptied_, allotted_;
  std::deque<Slot> slots_ RONDE_GUARDED_BY(mutex_);  // of the runs given_, given_ + 1 ...
  std::uint64_t given_ RONDE_GUARDED_BY(mutex_) = 0;
  std::size_t room_ RONDE_GUARDED_BY(mutex_);
  bool was_full_ RONDE_GUARDED_BY(mutex_) = false;      // someone waits until half of the room is free
  bool within_batch_ RONDE_GUARDED_BY(mutex_) = false;  // the first runs of a batch have been given
  int threads_ RONDE_GUARDED_BY(mutex_) = 0;            // those numbered below work
  bool ended_ RONDE_GUARDED_BY(mutex_) = false;         // nothing more is pulled
  std::exception_ptr failure_ = nullptr;                // of next()'s thread
  std::vector<std::jthread> pool_ RONDE_GUARDED_BY(mutex_);
};

}  // namespace ronde::data
