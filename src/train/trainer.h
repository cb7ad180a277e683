#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ronde/data/pipeline.h"
#include "ronde/train/evaluate.h"
#include "ronde/train/logging/reporter.h"
#include "ronde/train/loop/checkpoint_manager.h"
#include "ronde/train/loop/feed.h"
#include "ronde/train/loop/learner.h"
#include "ronde/train/loop/time_limit.h"
#include "ronde/train/loop/training_stream.h"
#include "ronde/train/loop/training_task.h"
#include "ronde/train/session.h"
#include "ronde/train/session/interrupt.h"
#include "ronde/train/session/trace_facts.h"

namespace ronde::train {

struct Outcome {
  bool interrupted = false;
  bool to_be_continued = false;  // it was told to stop, or its time was nearly over
  std::int64_t steps = 0;        // since the very beginning, those before a resume included
  Score score;                   // of the last evaluation,
  Results results;               // and what is made of it

  bool stopped() const { return interrupted || to_be_continued; }
};

// A whole training, as the settings of a session describe it: epochs of steps, an evaluation after each, checkpoints,
// reports. Every rank runs one.
class Trainer {
 public:
  // FAILS WITH: BadInput, System: what is asked for cannot be.
  Trainer(Session& session, const Interrupt& interrupt, const Log& log, TimeLimit limit = {});

  // Ends early, after the same step on all ranks and with a checkpoint that is safely written when it returns: after
  // an interrupt on any rank, or when the time is nearly over on rank 0.
  // FAILS WITH: as Handle::wait(); System when the loss is not finite.
  Outcome run();

 private:
  void resume();                          // where there is a checkpoint to go on from
  bool complete() const;                  // as far as the settings want it
  bool finished() const;                  // nothing is left to be trained,
  bool judged() const;                    // or to be evaluated
  bool is_last(std::int64_t step) const;  // by train.steps
  void require_kept() const;
  void say_complete() const;
  void train(data::Pipeline& batches);
  std::optional<StepBatch> next_batch(Feed& feed) const;
  // What happens after each step of this rank, in order: it may add to what ranks tell each other of the step.
  struct StepEnd {
    std::int64_t number = 0;
    bool evaluates = false;  // an evaluation follows
  };
  using AfterStep = std::function<void(const StepEnd& step, Totals& mine)>;
  std::vector<AfterStep> after_each_step(const data::Pipeline& batches);
  bool one_step(const StepBatch& batch, const std::vector<AfterStep>& after);  // false: it is time to stop
  void keep_if_asked(const Totals& before, std::int64_t number);
  bool wants_to_leave(bool evaluates);
  void say_why_stopped() const;
  void see(const Totals& totals);
  Evaluation evaluated_on(const data::Source& samples);
  bool evaluates_after(std::int64_t step) const;  // by train.evaluate_every
  std::optional<std::int64_t> epoch_of_evaluation() const;
  bool settle();
  void judge(std::optional<std::int64_t> epoch);
  void test();
  bool reached_target() const;
  bool out_of_patience() const;
  void note_progress();
  TrainingState state_to_keep();
  void keep();
  void keep_best();
  void find_best();
  std::string best_text() const;

  Session& session_;
  const Interrupt& interrupt_;
  const Log log_;
  TimeLimit limit_;
  const TrainingStream
      stream_;  // before all that uses the GPU: autograd keeps to the stream in which it first met a weight
  Task task_;
  const Mixing mixing_;
  Learner learner_;
  CheckpointManager checkpoint_manager_;
  Reporter reporter_;
  TotalsOfSteps totals_;
  std::optional<std::int64_t> done_;  // steps that an earlier run has made, if this one goes on from there
  std::int64_t kept_on_ = -1;         // the step in which a checkpoint was last asked for
  bool keep_due_ = false;             // asked for by a step that was followed by an evaluation
  data::Position position_;
  Outcome outcome_;
  std::optional<std::chrono::nanoseconds> evaluation_time_;
  TracedClock clock_;
  TracedMemory memory_{session_.device()};
  std::optional<Measure> best_;       // the main measure when it was best,
  std::int64_t since_best_ = 0;       // and evaluations since
  std::optional<Measure> kept_best_;  // the measure of checkpoint.best, of the checkpoint in the folder best
  bool evaluated_ = true;             // what was due last
  std::int64_t evaluated_at_ = -1;    // the step of which outcome_.results are
  bool tested_;                       // these weights, where samples are held out for the very end
};

}  // namespace ronde::train
