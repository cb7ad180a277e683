#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/cli/tune/tune.h"
#include "ronde/tune/output/optuna_journal.h"

namespace ronde::cli {
namespace {

struct ExportFlags {
  std::string folder, optuna;
};

int write_export(const ExportFlags& flags) {
  if (flags.optuna.empty()) throw Error::bad_input("missing file to write: ronde tune export FOLDER --optuna FILE");
  const tune::Search search = search_in(flags.folder, "export");
  const auto name = std::filesystem::weakly_canonical(flags.folder).filename().string();
  std::ofstream out(flags.optuna, std::ios::binary);
  out << tune::optuna_journal(search, name);
  if (!out.flush()) throw Error::system(errno, "'{}' cannot be written", flags.optuna);
  fmt::print("{}: study '{}', {} trials; open it with optuna-dashboard {}\n", flags.optuna, name,
             search.trials().size(), flags.optuna);
  return 0;
}

}  // namespace

void add_tune_export(CLI::App& tune, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* export_command = tune.add_subcommand("export", "Write a search for other programs");
  export_command->add_option("FOLDER", flags->folder, "Folder of the search; it may still be running");
  export_command->add_option("--optuna", flags->optuna, "File for Optuna's journal, which optuna-dashboard shows")
      ->type_name("FILE");
  export_command->callback([&command, flags] { command = [flags](const Context&) { return write_export(*flags); }; });
  export_command->fallthrough();
}

}  // namespace ronde::cli
