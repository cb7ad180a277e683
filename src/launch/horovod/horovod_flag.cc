#include "ronde/launch/horovod/horovod_flag.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/horovod/horovod_flags.h"

namespace ronde::launch::detail {
namespace {

constexpr std::string_view kNever = "36500d";  // a hundred years

// horovodrun's levels; ours pass as they are, and the setting checks them.
std::string level(std::string value) {
  std::ranges::transform(value, value.begin(), [](unsigned char letter) { return std::tolower(letter); });
  if (value == "trace") return "debug";
  if (value == "warning") return "warn";
  return value == "fatal" ? "error" : value;
}

// One file of horovodrun's is a folder of ours, with a file a rank.
std::string folder_for(const std::string& file) {
  return file.ends_with(".json") && file.size() > 5 ? file.substr(0, file.size() - 5) : file;
}

void add_folder(const HorovodFlag& flag, const Written& written, TranslatedCommand& command) {
  if (written.value == "DYNAMIC")  // for start_timeline(), which names the file
    return add_note(command, fmt::format("{}: nothing is recorded until the program asks for it", written.text()));
  const std::string folder = folder_for(written.value);
  command.words.insert(command.words.end(), {std::string(flag.ours), folder});
  add_note(command,
           fmt::format("{}: traces go to the folder {}, one file per rank, for ui.perfetto.dev", written.name, folder));
}

}  // namespace

const HorovodFlag* find_horovod_flag(std::string_view name) {
  const auto found = std::ranges::find(kHorovodFlags, name, &HorovodFlag::name);
  return found == kHorovodFlags.end() ? nullptr : &*found;
}

void check_value(HorovodValue kind, const Written& written) {
  if (kind == HorovodValue::Whole) {
    const auto number = parse_number<std::int64_t>(written.value);
    if (!number || *number < 0) throw Error::bad_input("{}: write a whole number", written.text());
  }
  if (kind == HorovodValue::Number) {
    const auto number = parse_number<double>(written.value);
    if (!number || !std::isfinite(*number) || *number < 0) throw Error::bad_input("{}: write a number", written.text());
  }
}

void add_note(TranslatedCommand& command, std::string note) {
  if (std::ranges::count(command.notes, note) == 0) command.notes.push_back(std::move(note));
}

void translate(const HorovodFlag& flag, const Written& written, TranslatedCommand& command) {
  const std::string ours(flag.ours);
  const std::string& value = written.value;
  check_value(flag.value, written);
  switch (flag.action) {
    case HorovodAction::Word:
      command.words.push_back(ours);
      if (flag.value != HorovodValue::None) command.words.push_back(value);
      return;
    case HorovodAction::Fixed:
      for (const auto word : split(ours, ' ')) command.words.emplace_back(word);
      return;
    case HorovodAction::MiB: command.words.insert(command.words.end(), {ours, value + "MiB"}); return;
    case HorovodAction::Seconds: command.words.insert(command.words.end(), {ours, value + "s"}); return;
    case HorovodAction::SecondsOrNever:
      command.words.insert(command.words.end(),
                           {ours, parse_number<std::int64_t>(value) == 0 ? std::string(kNever) : value + "s"});
      return;
    case HorovodAction::Level: command.words.insert(command.words.end(), {ours, level(value)}); return;
    case HorovodAction::Folder: return add_folder(flag, written, command);
    case HorovodAction::Note: return add_note(command, fmt::format("{} {}", written.name, ours));
    case HorovodAction::Refuse: throw Error::bad_input("{}: {}", written.name, ours);
  }
}

}  // namespace ronde::launch::detail
