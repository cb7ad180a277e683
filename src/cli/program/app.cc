#include "ronde/cli/program/app.h"

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/text.h"
#include "ronde/base/version.h"
#include "ronde/cli/program/programs.h"
#include "ronde/launch/horovod/horovod_variables.h"

namespace ronde::cli {
namespace {

using Flags = std::vector<Settings::Flag>;

// Every setting is a flag of every command.
void add_setting_flags(CLI::App& app, Flags& flags) {
  for (const Setting& setting : kSettings) {
    const auto keep = [&flags, &setting](const std::string& text) {
      flags.push_back({std::string(setting.key), text, flag_name(setting)});
    };
    app.add_option_function<std::string>(flag_name(setting), keep, std::string(setting.help));
  }
  const auto split_pair = [&flags](const std::vector<std::string>& pairs) {
    for (const std::string& pair : pairs) {
      const auto equals = pair.find('=');
      if (equals == std::string::npos) throw Error::bad_input("--set {}: write key=value", pair);
      flags.push_back({pair.substr(0, equals), pair.substr(equals + 1), "--set " + pair.substr(0, equals)});
    }
  };
  app.add_option_function<std::vector<std::string>>("--set", split_pair, "Set any setting: trace.bytes=64MiB")
      ->type_name("KEY=VALUE");
  app.footer("Every setting is a flag too (--trace-bytes 64MiB); 'ronde info --settings' lists them.");
}

// In --help the settings would bury the command's own flags: all but --config go. CLI11 names a hidden option in no
// error, so they are hidden only now.
void hide_setting_flags(CLI::App& app) {
  for (const Setting& setting : kSettings)
    if (setting.key != "config") app.get_option(flag_name(setting))->group("");
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level; level = level->get_parent())
    for (const CLI::Option* option : level->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The command that was chosen, of a command: {data, data verify}, the inmost last.
std::vector<const CLI::App*> chosen_commands(const CLI::App& app) {
  std::vector<const CLI::App*> chosen{&app};
  while (!chosen.back()->get_subcommands().empty()) chosen.push_back(chosen.back()->get_subcommands().front());
  return chosen;
}

// CLI11's sentence, and what may have been meant.
Error wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = chosen_commands(app);
  std::string name;
  for (std::size_t i = 1; i < chosen.size(); ++i) name += chosen[i]->get_name() + " ";
  const std::string help = fmt::format("'ronde {}--help'", name);
  const auto left = app.remaining(true);
  if (left.empty()) return Error::bad_input("{}; see {}", error.what(), help);
  const std::string word(split(left.front(), '=').front());
  std::vector<std::string> candidates = flags_of(*chosen.back());
  for (const CLI::App* known : app.get_subcommands({}))
    if (known->get_name() == word) return Error::bad_input("'{}' is a separate command: ronde {}", word, word);
  for (const CLI::App* level : chosen)
    for (const CLI::App* known : level->get_subcommands({})) candidates.push_back(known->get_name());
  const auto meant = nearest(word, candidates);
  return Error::bad_input("unknown argument '{}'; {}", word,
                          meant ? "did you mean " + *meant + "?" : help + " lists the known ones");
}

}  // namespace

int run(std::span<const char* const> arguments, const Environment& environment) {
  CLI::App app("Ronde trains deep networks on many processes, shows where the time goes, and puts them to work.",
               "ronde");
  app.set_version_flag("--version", fmt::format("ronde {} ({})", version(), revision()));
  Flags flags;
  add_setting_flags(app, flags);
  app.require_subcommand(0, 1);
  std::function<int(const Context&)> command;
  RunLine line;
  declare_commands(app);
  const Program& program = this_program();
  if (const auto owner = program_of(arguments, app); owner && *owner != program.name) become(*owner, arguments);
  program.add_commands(app, line, command);
  line = split_run_line(arguments, app);
  for (CLI::App* subcommand : app.get_subcommands({})) subcommand->fallthrough();
  try {
    std::vector<std::string> words(line.ours.rbegin(), line.ours.rend());  // CLI11 takes them from the back
    if (!words.empty()) words.pop_back();                                  // our own name
    app.parse(std::move(words));
  } catch (const CLI::Success& done) {  // --help and --version
    hide_setting_flags(app);
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    throw wrong_usage(app, error);
  }
  const auto horovod = launch::horovod_settings(environment);
  flags.insert(flags.begin(), horovod.settings.begin(), horovod.settings.end());
  const auto settings = Settings::load(environment, std::span<const Settings::Flag>(flags));
  if (!command) {
    hide_setting_flags(app);
    fmt::print("{}", app.help());
    return 0;
  }
  const Log log({.level = parse_log_level(settings.get<"log.level">()),
                 .color = Paint::choose(settings.get<"cli.color">(), stderr, environment).on()});
  log.debug("{} settings read", settings.entries().size());
  for (const std::string& note : horovod.notes) log.debug("{}", note);  // every rank would say it
  return command({settings, environment, log, flags});
}

}  // namespace ronde::cli
