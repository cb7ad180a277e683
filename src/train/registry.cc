#include "ronde/train/registry.h"

#include <algorithm>
#include <set>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::train {
namespace {

// Names of one kind of things, each once.
class Names {
 public:
  Names(const char* what, const std::vector<std::string>& built_in)
      : what_(what), taken_(built_in.begin(), built_in.end()) {}

  void add(const std::string& name, bool complete) {
    if (name.empty()) throw Error::bad_input("the registry has an entry ({}) without a name", what_);
    if (!complete) throw Error::bad_input("the {} '{}' of the registry lacks its function", what_, name);
    if (!taken_.insert(name).second) throw Error::bad_input("there are two entries for the {} '{}'", what_, name);
  }

 private:
  const char* const what_;
  std::set<std::string> taken_;
};

template <class Entry>
const Entry* find(const std::vector<Entry>& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

template <class Entry>
const Entry& find_or_say(const std::vector<Entry>& entries, std::string_view name, const char* key) {
  if (const Entry* found = find(entries, name)) return *found;
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  if (names.empty())
    throw Error::bad_input("{} is '{}', but no plugin has registered such a name: add --plugin FILE", key, name);
  const auto meant = nearest(name, names);
  throw Error::bad_input("{} is '{}', which no plugin has registered{}; there are {}", key, name,
                         meant ? " (did you mean " + *meant + "?)" : "", join(names, ", "));
}

std::vector<std::string> built_in_optimizers() {
  std::vector<std::string> names;
  for (const OptimizerEntry& entry : optimizer_entries()) names.emplace_back(entry.name);
  return names;
}

}  // namespace

void Registry::check() const {
  Names model_names("model", models::model_names());
  for (const models::ModelEntry& entry : models)
    for (const std::string& name : entry.names) model_names.add(name, entry.make != nullptr);
  Names dataset_names("dataset", data::source_names());
  for (const DatasetEntry& entry : datasets) dataset_names.add(entry.name, entry.samples != nullptr);
  Names loss_names("loss", models::loss_forms());
  for (const LossEntry& entry : losses) {
    loss_names.add(entry.name, entry.loss || !entry.measures.empty());
    Names measures("measure", {"loss"});
    for (const MeasureEntry& measure : entry.measures) {
      measures.add(measure.key, measure.each != nullptr);
      if ((measure.key + measure.name).find_first_of("/\n") != std::string::npos)
        throw Error::bad_input("the measure '{}': neither key nor name may hold a slash or a line break", measure.key);
    }
  }
  Names optimizer_names("optimizer", built_in_optimizers());
  for (const OptimizerEntry& entry : optimizers)
    optimizer_names.add(std::string(entry.name), entry.make && entry.is && entry.state);
  Names augmentation_names("augmentation", {});
  for (const AugmentationEntry& entry : augmentations) augmentation_names.add(entry.name, entry.apply != nullptr);
}

const DatasetEntry* find_dataset(const Registry& registry, std::string_view name) {
  return find(registry.datasets, name);
}

const LossEntry* find_loss(const Registry& registry, const std::string& name) {
  auto names = models::loss_forms();
  if (name.empty() || std::ranges::find(names, name) != names.end()) return nullptr;
  if (const LossEntry* found = find(registry.losses, name)) return found;
  for (const LossEntry& entry : registry.losses) names.push_back(entry.name);
  const auto meant = nearest(name, names);
  throw Error::bad_input(
      "train.loss is '{}': there is no such loss{}; there are {}, and those of plugins (--plugin FILE)", name,
      meant ? " (did you mean " + *meant + "?)" : "", join(names, ", "));
}

std::vector<data::Augment> find_augmentations(const Registry& registry, const std::string& names) {
  std::vector<data::Augment> functions;
  if (trim(names).empty()) return functions;
  for (const auto name : split(names, ','))
    functions.push_back(find_or_say(registry.augmentations, trim(name), "data.augment").apply);
  return functions;
}

}  // namespace ronde::train
