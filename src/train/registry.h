#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/base/settings/settings.h"
#include "ronde/data/dataset.h"
#include "ronde/data/training/dataset_source.h"
#include "ronde/models/entry.h"
#include "ronde/models/loss.h"
#include "ronde/train/optim/entry.h"

// What a training may name in its settings besides what is built in. A program fills a registry (task.h), or a plugin
// adds to one (plugin.h); the session of a job has it.
namespace ronde::train {

// Samples for data.name.
struct DatasetEntry {
  std::string name = {};
  std::string help = {};  // one sentence
  // Those to train on, or those held out for testing; data.samples and data.test_samples take the first of them.
  std::function<data::Dataset(const Settings& settings, data::Split split)> samples = {};
  data::DatasetArrays arrays = {};
};

// How well a network does, besides the loss; of evaluations.
struct MeasureEntry {
  std::string key = {};   // for files: "rmse"
  std::string name = {};  // for people; empty: as the key
  // One number for each sample of a batch, [n].
  std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)> each = {};
  std::function<double(double mean)> finish = {};  // makes of the mean over all samples what is reported; none: that
  bool percent = false;
  bool higher_is_better = false;
};

// What is minimised, for train.loss.
struct LossEntry {
  std::string name = {};
  std::string help = {};
  // A number for each sample, [n], or their mean. Outputs come as f32. None: the usual one of data.target.
  models::Loss loss = {};
  std::vector<MeasureEntry> measures = {};  // the first is the main one; none: the usual ones of data.target
};

// What is done to samples for training before they leave the input pipeline, for data.augment.
struct AugmentationEntry {
  std::string name = {};
  std::string help = {};
  data::Augment apply = {};
};

struct Registry {
  std::vector<models::ModelEntry> models = {};
  std::vector<DatasetEntry> datasets = {};
  std::vector<LossEntry> losses = {};
  std::vector<OptimizerEntry> optimizers = {};
  std::vector<AugmentationEntry> augmentations = {};

  // FAILS WITH: BadInput for a name that is taken, by another entry or by what is built in, and for an entry that lacks
  // what it needs.
  void check() const;
};

// nullptr: none is called so.
const DatasetEntry* find_dataset(const Registry& registry, std::string_view name);

// The loss of train.loss; nullptr: the name is empty, and the loss is what fits data.target, or that of a built-in
// loss. FAILS WITH: BadInput for a name that no loss has, with those that there are.
const LossEntry* find_loss(const Registry& registry, const std::string& name);

// The functions of data.augment, a list of names by commas. FAILS WITH: BadInput for a name that no augmentation has.
std::vector<data::Augment> find_augmentations(const Registry& registry, const std::string& names);

}  // namespace ronde::train
