#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include <torch/version.h>

#include "ronde/train/registry.h"
#include "ronde/train/task.h"

// A plugin is a shared library that adds networks, datasets, losses, optimizers and augmentations to those of `ronde
// train` (the setting plugin). It is one source or several, each with any of these macros at namespace scope:
//
//   RONDE_REGISTER_MODEL("mine", [](const ronde::models::ModelOptions& options) { return std::make_shared<Mine>(...);
//   }) RONDE_REGISTER_DATASET("profiles", .samples = [](const ronde::Settings&, ronde::data::Split split) { ... })
//   RONDE_REGISTER_LOSS("huber", .loss = [](const torch::Tensor& output, const torch::Tensor& target) { ... })
//   RONDE_REGISTER_OPTIMIZER("lion", .make = ..., .is = ..., .state = ...)
//   RONDE_REGISTER_AUGMENTATION("noise", .apply = ...)
//   RONDE_REGISTER_TASK(task)
//
// After a name come the fields of the entry (registry.h). In CMake, after find_package(ronde):
//
//   ronde_add_plugin(mine mine.cc)                                       # makes libmine.so
//
// The library exports one C function, ronde_plugin, which receives the registry to add to. It is called only if the
// plugin was built against this very Ronde and libtorch, which are told from the file before it is loaded
// (plugin/load_plugins.h).

#define RONDE_TEXT_OF(x) #x
#define RONDE_TEXT(x) RONDE_TEXT_OF(x)

#ifndef RONDE_PLUGIN_RONDE  // set by the target ronde::train of an installed Ronde, as "0.1.0 (55e1f07)"
#define RONDE_PLUGIN_RONDE "of a source tree"
#endif

// What a plugin and the program that loads it must have in common.
#define RONDE_PLUGIN_BUILD                                                                  \
  "ronde " RONDE_PLUGIN_RONDE ", libtorch " RONDE_TEXT(TORCH_VERSION_MAJOR) "." RONDE_TEXT( \
      TORCH_VERSION_MINOR) "." RONDE_TEXT(TORCH_VERSION_PATCH)

namespace ronde::train::plugin {

using Add = void (*)(Registry& registry);

// What the sources of this library add. Hidden: each library has a list of its own.
[[gnu::visibility("hidden")]] inline std::vector<Add>& additions() {
  static std::vector<Add> all;
  return all;
}

inline bool add(Add function) {
  additions().push_back(function);
  return true;
}

template <class Entry>
Entry named(const char* name, Entry entry) {
  entry.name = name;
  return entry;
}

}  // namespace ronde::train::plugin

// The one function of a plugin. `host_build`: what the program was built with. Returns what the plugin was built with,
// and adds to the registry only if the two are equal.
extern "C" [[gnu::visibility("default"), gnu::used, gnu::weak]] const char* ronde_plugin(const char* host_build,
                                                                                         void* registry) {
  // The mark by which the file tells it to somebody who has not loaded it.
  static const char marked[] = "ronde plugin built with: " RONDE_PLUGIN_BUILD;
  const char* build = marked + sizeof("ronde plugin built with: ") - 1;
  if (std::strcmp(host_build, build) == 0)
    for (const ronde::train::plugin::Add add : ronde::train::plugin::additions())
      add(*static_cast<ronde::train::Registry*>(registry));
  return build;
}

#define RONDE_PLUGIN_JOIN_(a, b) a##b
#define RONDE_PLUGIN_JOIN(a, b) RONDE_PLUGIN_JOIN_(a, b)
#define RONDE_PLUGIN_ADD(...)                                                       \
  [[maybe_unused]] static const bool RONDE_PLUGIN_JOIN(ronde_added_, __COUNTER__) = \
      ::ronde::train::plugin::add([](::ronde::train::Registry& registry) { __VA_ARGS__; });

#define RONDE_REGISTER_MODEL(name, ...) \
  RONDE_PLUGIN_ADD(registry.models.push_back({.names = {name}, .make = __VA_ARGS__}))
#define RONDE_REGISTER_DATASET(id, ...) \
  RONDE_PLUGIN_ADD(                     \
      registry.datasets.push_back(::ronde::train::plugin::named(id, ::ronde::train::DatasetEntry{__VA_ARGS__})))
#define RONDE_REGISTER_LOSS(id, ...) \
  RONDE_PLUGIN_ADD(registry.losses.push_back(::ronde::train::plugin::named(id, ::ronde::train::LossEntry{__VA_ARGS__})))
#define RONDE_REGISTER_OPTIMIZER(id, ...) \
  RONDE_PLUGIN_ADD(                       \
      registry.optimizers.push_back(::ronde::train::plugin::named(id, ::ronde::train::OptimizerEntry{__VA_ARGS__})))
#define RONDE_REGISTER_AUGMENTATION(id, ...)         \
  RONDE_PLUGIN_ADD(registry.augmentations.push_back( \
      ::ronde::train::plugin::named(id, ::ronde::train::AugmentationEntry{__VA_ARGS__})))
#define RONDE_REGISTER_TASK(...) RONDE_PLUGIN_ADD(::ronde::train::add_task(registry, __VA_ARGS__))
