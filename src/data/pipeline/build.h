#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ronde/data/pipeline/bad_samples.h"
#include "ronde/data/pipeline/engine.h"
#include "ronde/data/pipeline/items.h"
#include "ronde/data/pipeline/memory/sample_cache.h"
#include "ronde/data/pipeline/step_plan.h"
#include "ronde/data/pipeline/stored_work.h"
#include "ronde/data/steps.h"

namespace ronde::data {

// What a pipeline leaves to each of the datasets inside it: options with a share of its memory, and where that is
// counted.
struct NestedOptions {
  PipelineOptions options;
  Budget* all = nullptr;
};

// A dataset at work: stages in place of steps. One thread at a time may call it.
class PipelineBuilder {
 public:
  struct Choice {
    std::optional<Position> start = {};
    std::optional<std::int64_t> only_epoch = {};  // this one, from its beginning, whatever the steps say
    bool here = false;                            // on the thread that asks, without any of its own
    Budget* all = nullptr;                        // of the pipeline around it, if it is inside of one
  };
  // FAILS WITH: BadInput for steps that do not go together, or a start that is not theirs.
  PipelineBuilder(const Origin& origin, const std::vector<Step>& steps, const PipelineOptions& options,
                  const Choice& choice);

  // The next sample or batch. FAILS WITH: what any step failed with.
  std::optional<Sample> next();
  // As Pipeline::next_batch().
  std::optional<Batch> next_batch();
  const Position& position() const { return position_; }  // after what next() gave
  std::int64_t epoch() const { return epoch_; }           // of what next() gave
  const Engine& engine() const { return engine_; }
  const BadSamples& bad() const { return bad_; }

 private:
  void note_position(const Item& item);
  bool seekable() const;  // an epoch can be entered anywhere
  std::int64_t end_epoch() const;
  void begin_by_index();
  void begin_stream();
  void add_each();
  void add_read();
  void work_on_each(std::size_t first, std::size_t last, Run& run);
  void take_step(std::size_t number, Item& item);
  StoredWork::Prepare steps_before(std::size_t number);
  void add_rest();
  void add_step(const Step& step);
  void add_item_step(const Step& step);
  void add_datasets(const Step& step);
  void add_unbatch();
  void add_items(const std::function<Items(Items)>& make);
  void add_stack(bool pad);
  void add_to_device(int device);
  void add_work(StageOptions options, Stage::Work work, int fixed = 0);
  void add_counted(StageOptions options, Stage::Work work, int fixed = 0);
  OpenInner opened(const std::function<Dataset(const Sample&)>& function, std::size_t cycle);
  NestedOptions inside(std::size_t datasets);
  Gate& new_gate();
  IndexView make_view() const;
  const Decoder* in_place() const;  // the last of the steps on each sample, if it may write into batches

  const Origin origin_;
  const StepPlan plan_;
  const IndexView view_;  // of samples by index
  const Choice choice_;
  const Position start_;
  Position position_;
  std::int64_t epoch_ = 0;
  BadSamples bad_;
  std::unique_ptr<StoredWork> work_;
  std::vector<std::unique_ptr<SampleCache>> caches_;  // one for each of plan_.each, mostly none
  Engine engine_;                                     // after them: its threads use all of the above
  Gate* gate_ = nullptr;                              // while it is built: by which the samples came in, if by one
  std::size_t rest_at_ = 0;                           // while it is built: which of plan_.rest it is at
  Run run_;                                           // whose items next() gives, with memory of the engine's,
  std::size_t at_ = 0;                                // from this one on
};

}  // namespace ronde::data
