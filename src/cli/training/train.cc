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
  if (flags.recipe.empty()) throw Error::bad_input("missing recipe: a TOML file, or one of 'ronde train --list'");
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
  train_command->add_option("RECIPE", flags->recipe, "TOML file, or the name of a built-in recipe");
  train_command->add_flag("--list", flags->list, "List the built-in recipes and what each is for");
  train_command->add_flag("--optimizers", flags->optimizers, "List the optimizers for optimizer.name");
  train_command->add_flag("--print", flags->print, "Print the recipe, to start your own from");
  train_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return train(*flags, context); }; });

  auto checkpoint = std::make_shared<std::string>();
  CLI::App* eval_command = app.get_subcommand("eval");
  eval_command
      ->add_option("CHECKPOINT", *checkpoint,
                   "Folder of the checkpoint, or the output.dir of a training, for its newest one")
      ->required();
  eval_command->callback([&command, checkpoint] {
    command = [checkpoint](const Context& context) {
      return train::run_evaluation(*checkpoint, context.flags, context.environment, context.log);
    };
  });
  add_limits(app, command);
}

}  // namespace ronde::cli
