#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/cli/tune/tune.h"
#include "ronde/tune/journal/recorded_search.h"
#include "ronde/tune/output/overview.h"

namespace ronde::cli {
namespace {

struct ListFlags {
  std::string folder;
  std::size_t best = 0;
  bool json = false;
};

int list(const ListFlags& flags) {
  const tune::Search search = search_in(flags.folder, "list");
  std::vector<int> trials = tune::by_score(search);
  if (flags.best > 0 && trials.size() > flags.best) trials.resize(flags.best);
  if (flags.json) {
    tune::Json facts = tune::Json::array();
    for (const int number : trials) facts.push_back(to_json(search.trials()[static_cast<std::size_t>(number)]));
    fmt::print("{}\n", json_text(facts));
    return 0;
  }
  fmt::print("{}", tune::trial_table(search, trials).text());
  return 0;
}

}  // namespace

tune::Search search_in(const std::string& folder, const std::string& command) {
  if (folder.empty()) throw Error::bad_input("missing folder of a search: ronde tune {} FOLDER", command);
  const auto file = std::filesystem::path(folder) / "journal.jsonl";
  if (!std::filesystem::exists(file))
    throw Error::bad_input("'{}' holds no search: there is no {}", folder, file.string());
  return tune::read_search(file);
}

void add_tune_list(CLI::App& tune, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* list_command = tune.add_subcommand("list", "Show the trials of a search, the best first");
  list_command->add_option("FOLDER", flags->folder, "Folder of the search; it may still be running");
  list_command->add_option("--best", flags->best, "Only so many of them")->type_name("N");
  list_command->add_flag("--json", flags->json, "Print them as JSON, with their configurations and last results");
  list_command->callback([&command, flags] { command = [flags](const Context&) { return list(*flags); }; });
  list_command->fallthrough();
}

}  // namespace ronde::cli
