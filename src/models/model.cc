#include "ronde/models/model.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/models/entry.h"
#include "ronde/models/torchscript.h"

namespace ronde::models {
namespace {

using Entries = std::span<const ModelEntry>;

std::vector<ModelEntry> all_entries(Entries more) {
  std::vector<ModelEntry> all = model_entries();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <class Chosen>
std::vector<std::string> names_of(Entries more, const Chosen& chosen) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : all_entries(more))
    if (chosen(entry)) names.insert(names.end(), entry.names.begin(), entry.names.end());
  return names;
}

ModelEntry find_entry(const std::string& name, Entries more) {
  if (is_torchscript(name)) return torchscript_entry(name);
  for (ModelEntry& entry : all_entries(more))
    if (std::ranges::find(entry.names, name) != entry.names.end()) return std::move(entry);
  for (ModelEntry& entry : all_entries(more))
    if (entry.accepts && entry.accepts(name)) return std::move(entry);
  auto names = model_names(more);
  const auto near = nearest(name, names);
  for (const ModelEntry& entry : all_entries(more))
    if (!entry.further.empty()) names.push_back(entry.further);
  throw Error::bad_input("unknown model '{}'{}; choose one of {}", name,
                         near ? fmt::format(" (did you mean {}?)", *near) : std::string(), join(names, ", "));
}

void check_sizes(const ModelOptions& options) {
  const auto positive = [&](const char* what, std::int64_t value) {
    if (value < 1) throw Error::bad_input("model {}: {} must be at least 1, got {}", options.name, what, value);
  };
  positive("the number of classes", options.classes);
  positive("the number of channels", options.channels);
  positive("the height of the input", options.height);
  positive("the width of the input", options.width);
}

}  // namespace

std::vector<std::string> model_names(Entries more) {
  return names_of(more, [](const ModelEntry&) { return true; });
}

std::vector<std::string> model_names_with_blocks(Entries more) {
  return names_of(more, [](const ModelEntry& entry) { return entry.has_blocks; });
}

std::shared_ptr<Network> make_model(const ModelOptions& options, Entries more) {
  const ModelEntry entry = find_entry(options.name, more);
  check_sizes(options);
  if (options.filters < 0 || (options.filters > 0 && !entry.takes_filters))
    throw Error::bad_input("model {} does not support model.filters = {}", options.name, options.filters);
  if (options.recompute && !entry.has_blocks)
    throw Error::bad_input("model {} has no blocks for model.recompute; use one of {}", options.name,
                           join(model_names_with_blocks(more), ", "));
  auto network = entry.make(options);
  if (!network) throw Error::bad_input("model {}: its entry in the registry made no network", options.name);
  return network;
}

}  // namespace ronde::models
