// The main function of a program for a task of one's own.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/settings/arguments.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/system/run_main.h"
#include "ronde/base/text/text.h"
#include "ronde/train/job.h"
#include "ronde/train/recipes.h"
#include "ronde/train/task.h"

namespace ronde::train {
namespace {

// What a task wants, as a recipe that any other overrides.
Settings::Recipe recipe_of(const UserTask& task) {
  std::map<std::string, std::string> settings = {{"data.name", task.name}, {"model.name", task.name}};
  if (task.loss || !task.measures.empty()) settings["train.loss"] = task.name;
  for (const auto& [key, text] : task.settings) settings[key] = text;
  Settings::Recipe recipe{.name = task.name};
  for (const auto& [key, text] : settings) recipe.text += fmt::format("{} = \"{}\"\n", key, text);
  return recipe;
}

int run(const UserTask& task, std::span<const char* const> all) {
  const Arguments arguments = read_arguments(all.subspan(1));
  auto registry = std::make_shared<Registry>();
  add_task(*registry, task);
  const Environment environment = Environment::of_process();
  const auto log_of = [](const Settings& settings) {
    return Log({.level = parse_log_level(settings.get<"log.level">())});
  };
  const auto& words = arguments.words;
  if (words.size() == 2 && words[0] == "eval")
    return run_evaluation(words[1], arguments.flags, environment,
                          log_of(Settings::load(environment, std::span(arguments.flags))), registry);
  if (words.size() > 1)
    throw Error::bad_input("unknown argument '{}'; usage: {} [RECIPE] [--SETTING VALUE ...], or {} eval CHECKPOINT",
                           words[1], all[0], all[0]);
  Settings::Recipe recipe = recipe_of(task);
  if (!words.empty()) {
    Settings::Recipe chosen = find_recipe(words[0]);
    chosen.bases.insert(chosen.bases.begin(), std::move(recipe));
    recipe = std::move(chosen);
  }
  const auto settings = Settings::load(environment, std::span(arguments.flags), recipe);
  return run_training(settings, log_of(settings), registry);
}

}  // namespace

void add_task(Registry& registry, const UserTask& task) {
  if (task.name.empty() || !task.network || !task.samples)
    throw Error::bad_input("a task needs a name, a network and samples");
  registry.models.push_back({.names = {task.name}, .make = task.network});
  registry.datasets.push_back({.name = task.name, .samples = task.samples, .arrays = task.arrays});
  if (task.loss || !task.measures.empty())
    registry.losses.push_back({.name = task.name, .loss = task.loss, .measures = task.measures});
}

int run_task(const UserTask& task, int count, const char* const* words) {
  return run_main(task.name, [&] { return run(task, {words, static_cast<std::size_t>(count)}); });
}

}  // namespace ronde::train
