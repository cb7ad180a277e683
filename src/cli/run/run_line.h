#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ronde::cli {

// A command line of `ronde run` (or `ronde tune`) in two: our own part, and the command, whose flags are none of our
// business.
struct RunLine {
  std::vector<std::string> ours;
  std::vector<std::string> command;
  std::vector<std::string> notes = {};  // on flags of horovodrun, for the user
};

// Cuts at the second word that is no flag nor the value of one (the first is "run" or "start-rank"), or at "--"; what
// is another command is all ours. That of `ronde tune` is cut at "--". Flags of horovodrun are put into ours, those of
// its --config-file too. REQUIRES: `app` has all its flags. FAILS WITH: BadInput for flags of horovodrun that do not do
// here, and for its file.
RunLine split_run_line(std::span<const char* const> arguments, const CLI::App& app);

// Whether the word after this flag of `command`, or of `app`, is its value.
bool takes_next_word(const CLI::App& app, const CLI::App& command, const std::string& flag);

}  // namespace ronde::cli
