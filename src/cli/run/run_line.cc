#include "ronde/cli/run/run_line.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/horovod/horovodrun.h"
#include "ronde/launch/place/plan_hosts.h"

namespace ronde::cli {
namespace {

// Flags of horovodrun's file count unless the command line has them too.
void add_config_file(const std::string& file, RunLine& line) {
  for (const std::string& word : launch::parse_horovod_config(launch::read_whole_file(file), file)) {
    const launch::TranslatedCommand translated = launch::from_horovodrun(std::vector{word});
    line.notes.insert(line.notes.end(), translated.notes.begin(), translated.notes.end());
    if (translated.words.empty()) continue;
    const std::string flag(split(translated.words.front(), '=').front());
    const auto is_same = [&](const std::string& ours) { return ours == flag || ours.starts_with(flag + "="); };
    if (std::ranges::none_of(line.ours, is_same))
      line.ours.insert(line.ours.end(), translated.words.begin(), translated.words.end());
  }
}

void put_into_our_words(RunLine& line) {
  launch::TranslatedCommand translated = launch::from_horovodrun(line.ours);
  line.ours = std::move(translated.words);
  line.notes = std::move(translated.notes);
  for (std::size_t i = 0; i < line.ours.size(); ++i) {
    const std::string word = line.ours[i];
    if (word.starts_with("--config-file=")) return add_config_file(word.substr(word.find('=') + 1), line);
    if (word == "--config-file" && i + 1 < line.ours.size()) return add_config_file(line.ours[i + 1], line);
  }
}

RunLine split_at_dashes(std::span<const char* const> arguments) {
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  RunLine line{.ours = {arguments.begin(), dashes}, .command = {}};
  if (dashes != arguments.end()) line.command.assign(dashes + 1, arguments.end());
  return line;
}

}  // namespace

bool takes_next_word(const CLI::App& app, const CLI::App& command, const std::string& flag) {
  if (flag.find('=') != std::string::npos) return false;
  if (const auto takes = launch::horovodrun_takes_value(flag)) return *takes;
  if (!flag.starts_with("--") && flag.size() > 2) return false;  // -n4
  for (const CLI::App* level : {&command, &app})
    if (const CLI::Option* option = level->get_option_no_throw(flag)) return option->get_items_expected_max() > 0;
  return false;
}

RunLine split_run_line(std::span<const char* const> arguments, const CLI::App& app) {
  RunLine line;
  const CLI::App* command = nullptr;  // run or start-rank
  for (std::size_t next = 0; next < arguments.size(); ++next) {
    const std::string_view word = arguments[next];
    const bool is_flag = word.size() > 1 && word.front() == '-' && word != "--";
    if (command && !is_flag) {
      const std::size_t begin = next + (word == "--" ? 1 : 0);
      line.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
      break;
    }
    if (word == "tune" && next > 0) return split_at_dashes(arguments);
    if (!is_flag && next > 0 && word != "run" && word != "start-rank") break;  // another of Ronde's commands
    if (!is_flag && next > 0) command = app.get_subcommand(std::string(word));
    line.ours.emplace_back(word);
    const bool has_value = is_flag && takes_next_word(app, command ? *command : app, line.ours.back());
    if (has_value && next + 1 < arguments.size()) line.ours.emplace_back(arguments[++next]);
  }
  if (!command) return {.ours = {arguments.begin(), arguments.end()}, .command = {}};
  if (command->get_name() == "run") put_into_our_words(line);
  return line;
}

}  // namespace ronde::cli
