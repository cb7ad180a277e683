// In a build without libtorch there is nothing to train with; the commands say so.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/cli/training/train.h"

namespace ronde::cli {

void add_train(CLI::App& app, std::function<int(const Context&)>& command) {
  for (const char* name : {"train", "eval", "limits"}) {
    CLI::App* subcommand = app.get_subcommand(name);
    const auto words = std::make_shared<std::vector<std::string>>();  // whatever they say
    subcommand->add_option("WORDS", *words, "");
    subcommand->allow_extras();
    subcommand->callback([&command, name, words] {
      command = [name](const Context&) -> int {
        throw Error::bad_input("'ronde {}' needs libtorch, but this build was made without it (RONDE_TORCH=OFF)", name);
      };
    });
  }
}

}  // namespace ronde::cli
