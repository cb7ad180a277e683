#include "ronde/cli/training/train.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/cli/training/limits.h"
#include "ronde/train/job.h"
#include "ronde/train/optim/optimizer_names.h"
#include "ronde/train/recipes.h"

namespace ronde::cli {
namespace {

struct TrainFlags {
  std::string recipe;
  bool list = false, print = false, optimizers = false;
};

int list_recipes() {
  for (const std::string& name : train::recipe_names())
    fmt::print("{}\n{}\n", name, train::recipe_summary(train::find_recipe(name)));
  return 0;
}

int train(const TrainFlags& flags, const Context& context) {
  if (flags.list) return list_recipes();
  if (flags.optimizers) {
    fmt::print("{}", train::optimizer_table());
    return 0;
  }
  if (flags.recipe.empty()) throw Error::bad_input("which recipe? A file, or one of 'ronde train --list'");
  const auto recipe = train::find_recipe(flags.recipe);
  if (flags.print) {
    fmt::print("{}", recipe.text);
    return 0;
  }
  return train::run_training(Settings::load(context.environment, context.flags, recipe), context.log);
}

}  // namespace

void add_train(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* train_command = app.get_subcommand("train");
  train_command->add_option("RECIPE", flags->recipe, "A TOML file, or the name of one that is built in");
  train_command->add_flag("--list", flags->list, "The recipes that are built in, and what they are after");
  train_command->add_flag("--optimizers", flags->optimizers, "The optimizers that optimizer.name may choose from");
  train_command->add_flag("--print", flags->print, "The recipe itself, to begin one's own with");
  train_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return train(*flags, context); }; });

  auto checkpoint = std::make_shared<std::string>();
  CLI::App* eval_command = app.get_subcommand("eval");
  eval_command->add_option("CHECKPOINT", *checkpoint, "Its folder, or the output.dir of a training: its newest one")
      ->required();
  eval_command->callback([&command, checkpoint] {
    command = [checkpoint](const Context& context) {
      return train::run_evaluation(*checkpoint, context.flags, context.environment, context.log);
    };
  });
  add_limits(app, command);
}

}  // namespace ronde::cli
