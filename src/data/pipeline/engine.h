#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "ronde/data/pipeline/issuer.h"
#include "ronde/data/pipeline/stage.h"
#include "ronde/data/pipeline_options.h"

namespace ronde::data {

// What keeps the stages of a pipeline going: its memory, its threads and how they are shared out. Whoever builds a
// pipeline adds its stages from the source on, and calls `took()` for everything that it takes out.
class Engine {
 public:
  // Three quarters of the memory, shared out evenly: one part is the budget, others are for gates and for datasets
  // inside. `all`: of the pipeline around it, which counts it too.
  explicit Engine(const PipelineOptions& options, int parts = 1, Budget* all = nullptr);
  ~Engine();  // stops all
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::stop_token stop() const { return stop_.get_token(); }
  Budget& budget() { return budget_; }
  Budget& scratch() { return scratch_; }
  Gate& add_gate() { return gates_.emplace_back(budget_.limit(), all_); }
  Budget& all() { return all_; }  // counts everything
  int threads() const { return threads_; }
  const PipelineOptions& options() const { return options_; }

  // REQUIRES: the first one added.
  Issuer& begin(IssuerOptions options);
  void begin_with(std::unique_ptr<Stream> source) { last_ = std::move(source); }
  // `fixed`: so many threads, whatever is measured; 0: as measured.
  void add_stage(StageOptions options, Stage::Work work, int fixed = 0);
  void wrap(const std::function<std::unique_ptr<Stream>(std::unique_ptr<Stream>)>& make);

  // The next run that comes out at the end; counts the time that it is waited for.
  std::optional<Run> next();
  Issuer* issuer() { return issuer_; }

  std::vector<StageStats> stats() const;
  std::chrono::nanoseconds waited() const { return waited_; }
  std::size_t peak_bytes() const { return all_.peak(); }

 private:
  struct Known {
    Stage* stage;
    int fixed;
    trace::Name counter;
  };
  void tune_now_and_then();

  const PipelineOptions options_;
  const int threads_;
  std::stop_source stop_;
  Budget all_, budget_, scratch_;
  std::deque<Gate> gates_;
  Issuer* issuer_ = nullptr;
  std::vector<Known> stages_;
  std::unique_ptr<Stream> last_;

  std::size_t ahead_;
  std::chrono::nanoseconds waited_{0}, tuned_at_, waited_then_{0}, full_then_{0};
  std::vector<StageStats> stats_then_;
};

}  // namespace ronde::data
