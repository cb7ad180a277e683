#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ronde/train/logging/progress_pace.h"
#include "ronde/train/loop/results.h"

// What `ronde train` shows, as text. All pure.
namespace ronde::train {

// What one line of progress tells.
struct ProgressFacts {
  std::int64_t epoch = 0, epochs = 1;  // counted from 0
  std::int64_t step = 0, steps = 1;    // done in this epoch, and all of it
  Results results = {};                // of this epoch so far, over all ranks where known
  Rates rates = {};
  std::chrono::nanoseconds left{0};  // to the end of the last epoch; zero: not known
};

// For a terminal of `width` columns: never wider, with a bar where there is room; the narrower, the less it tells.
std::string progress_bar(const ProgressFacts& facts, std::size_t width);
// For a file.
std::string progress_line(const ProgressFacts& facts);

// What an epoch came to.
struct EpochFacts {
  std::int64_t epoch = 0, epochs = 1;  // counted from 0
  Results train = {};
  bool trained = true;                   // false: an earlier job has trained it
  std::optional<Results> held_out = {};  // when there was an evaluation,
  std::string held_out_name = "test";    // and of what
  std::chrono::nanoseconds time{0};
  Rates rates = {};
  std::optional<double> noise_scale = {};  // where it is known
};
std::string epoch_line(const EpochFacts& facts);

// An evaluation within an epoch.
struct EvaluationFacts {
  std::int64_t step = 0;
  Results held_out = {};
  std::string held_out_name = "test";
};
std::string evaluation_line(const EvaluationFacts& facts);

// What the whole training came to.
struct Summary {
  int ranks = 1;
  std::int64_t epochs = 0, steps = 0, samples = 0;
  std::chrono::nanoseconds time{0};  // of training, without the start
  Results train = {};                // of the last epoch
  std::optional<Results> validation = {}, test = {};
  std::optional<double> target_accuracy = {};                            // train.target_accuracy, 0 to 1,
  std::optional<std::chrono::nanoseconds> time_to_target_accuracy = {};  // and when it was reached
  std::optional<std::int64_t> skipped_steps = {};                        // f16: whose gradients overflowed
  std::optional<double> efficiency = {};  // samples/s a rank, relative to those of one rank alone
  Rates rates = {};                       // over all of it
  std::string input_limit = {};           // why training waited for its input; empty: it did not
  std::int64_t skipped_samples = 0;       // that rank 0 could not read
  std::optional<double> noise_scale = {};
  std::vector<std::pair<std::string, std::string>> places = {};  // {"log", "out/log.jsonl"}, ...
};
// A table of two columns.
std::string summary_text(const Summary& summary);

// Steps until a training ends that has made `done` of them: at the end of its last epoch (`in_epochs` steps from its
// beginning), or after `most` of them, as train.steps says (0: it says nothing).
std::int64_t steps_left(std::int64_t done, std::int64_t in_epochs, std::int64_t most);

// Parts of the above.
std::string clock_text(std::chrono::nanoseconds time);  // "1:20", "2:03:04", "3d 4h"
std::string rate_text(double per_second);               // "8.25", "812", "12.3k", "1.2M"
std::string grouped(std::int64_t number);               // "1,234,567"

}  // namespace ronde::train
