#include "ronde/cli/program/programs.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"

namespace ronde::cli {

void declare_commands(CLI::App& app) {
  for (const CommandEntry& entry : kCommands) {
    const auto space = entry.name.find(' ');
    CLI::App* parent = space == entry.name.npos ? &app : app.get_subcommand(std::string(entry.name.substr(0, space)));
    CLI::App* command =
        parent->add_subcommand(std::string(entry.name.substr(space + 1)), std::string(entry.help));  // npos + 1 is 0
    if (entry.help.empty()) command->group("");
  }
}

std::optional<std::string_view> program_of(std::span<const char* const> arguments, const CLI::App& app) {
  std::optional<std::string_view> program;
  const CLI::App* chosen = &app;
  std::string name;
  for (std::size_t next = 1; next < arguments.size(); ++next) {
    const std::string_view word = arguments[next];
    if (word == "--") break;
    if (word.size() > 1 && word.front() == '-') {
      if (takes_next_word(app, *chosen, std::string(word))) ++next;
      continue;
    }
    if (word.find('=') != word.npos) continue;  // one more pair of --set
    name += (name.empty() ? "" : " ") + std::string(word);
    const auto* entry = std::ranges::find(kCommands, name, &CommandEntry::name);
    if (entry == kCommands.end()) break;
    program = entry->program;
    chosen = chosen->get_subcommand(std::string(word));
  }
  return program;
}

void become(std::string_view program, std::span<const char* const> arguments) {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").replace_filename(program);
  std::vector<char*> words;
  for (const char* word : arguments) words.push_back(const_cast<char*>(word));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  throw Error::bad_input(
      "this command is in the program {}, which cannot be started ({}): build or install it next to ronde",
      path.string(), std::generic_category().message(errno));
}

}  // namespace ronde::cli
