#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/settings/settings.h"
#include "ronde/data/dataset.h"
#include "ronde/data/source.h"
#include "ronde/models/loss.h"
#include "ronde/models/network.h"
#include "ronde/train/registry.h"

namespace ronde::train {

// A training of one's own: the network, the samples, the loss and what to measure. Everything else (checkpoints and
// resuming, deadlines, precision, optimizers, schedules, ranks, GPUs, evaluation, logs, traces) is that of `ronde
// train`, by the same settings.
//
//   int main(int count, char** words) {
//     return ronde::train::run_task({.name = "mine", .network = ..., .samples = ..., .loss = ...}, count, words);
//   }
//
//   $ ronde run -n 4 ./mine --train-epochs 20        # starts or continues; a recipe may come first: ./mine mine.toml
//   $ ./mine eval ronde-output/mine                  # evaluates the newest checkpoint
struct UserTask {
  std::string name = {};  // also of the output folder
  std::function<std::shared_ptr<models::Network>(const models::ModelOptions& options)> network = {};
  std::function<data::Dataset(const Settings& settings, data::Split split)> samples = {};  // as DatasetEntry
  data::DatasetArrays arrays = {};
  models::Loss loss = {};                            // as LossEntry: cross entropy for classes, else mean squared error
  std::vector<MeasureEntry> measures = {};           // as LossEntry
  std::map<std::string, std::string> settings = {};  // what this task wants other than by default
};

// Adds network, samples and loss under the name of the task, for model.name, data.name and train.loss.
void add_task(Registry& registry, const UserTask& task);

// The main function of a program for this task. Returns the exit code, as `ronde train` does; what went wrong is said
// on standard error, in one line.
int run_task(const UserTask& task, int count, const char* const* words);

}  // namespace ronde::train
