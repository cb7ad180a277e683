#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/models/model.h"

// What a network of `model.name` is: one file in entries/ says all there is to know about one, or about a family, and
// CMake makes the list. A program or a plugin adds entries of its own (ronde/train/registry.h).
namespace ronde::models {

struct ModelEntry {
  std::vector<std::string> names = {};  // as model.name has them
  std::string help = {};                // one sentence
  // The network of options.name, with fresh weights from torch's generator. Sizes have been checked.
  // FAILS WITH: BadInput for an input that is too small.
  std::function<std::shared_ptr<Network>(const ModelOptions& options)> make = {};
  // Further names, of a family without an end; none: there are none. Names that some entry lists come first.
  std::function<bool(std::string_view name)> accepts = {};
  std::string further = {};    // these names for people: "resnetN (N = 6n+2)"
  bool takes_filters = false;  // model.filters
  bool has_blocks = false;     // that model.recompute can run again
};

// All that are built in; in the order of CMakeLists.txt. Made anew by each call.
std::vector<ModelEntry> model_entries();

// --- What entries are made of

// For ModelEntry::make: the network of that class.
template <class Net>
std::shared_ptr<Network> make_plain(const ModelOptions& options) {
  return std::make_shared<Net>(options);
}

}  // namespace ronde::models
