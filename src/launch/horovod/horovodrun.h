#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The words of `horovodrun`, put into ours. All pure.
namespace ronde::launch {

// A command line in our own words, and what its writer should know: one sentence each.
struct TranslatedCommand {
  std::vector<std::string> words;
  std::vector<std::string> notes;
};

// Whether a flag of horovodrun that we do not have takes a value; nothing for a word that is none of these.
std::optional<bool> horovodrun_takes_value(std::string_view flag);

// Puts flags of horovodrun ("--fusion-threshold-mb 32", "--autotune", "-hostfile x") into ours and leaves all other
// words alone. A flag that changes nothing here is left out with a note; so is --config-file, which is somebody else's
// to read (parse_horovod_config).
// FAILS WITH: BadInput for a value that is none, or a flag that asks for what there is not; it says what there is.
TranslatedCommand from_horovodrun(std::span<const std::string> words);

// The flags of horovodrun that a file for its --config-file stands for: nested maps of texts, numbers and truth values.
// FAILS WITH: BadInput, naming file and line, for any key that horovodrun does not know and for everything else.
std::vector<std::string> parse_horovod_config(std::string_view text, const std::string& file);

// For --help: a line a flag.
std::string horovodrun_help();

}  // namespace ronde::launch
