#include "ronde/launch/horovod/horovodrun.h"

#include "ronde/base/error.h"
#include "ronde/launch/horovod/horovod_flags.h"

namespace ronde::launch {

using detail::find_horovod_flag;
using detail::HorovodFlag;
using detail::HorovodValue;

std::optional<bool> horovodrun_takes_value(std::string_view flag) {
  const HorovodFlag* known = find_horovod_flag(flag);
  if (!known) return {};
  return known->value != HorovodValue::None;
}

TranslatedCommand from_horovodrun(std::span<const std::string> words) {
  TranslatedCommand command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const HorovodFlag* flag = find_horovod_flag(std::string_view(words[i]).substr(0, equals));
    if (!flag) {
      command.words.push_back(words[i]);
      continue;
    }
    std::string value;
    if (flag->value != HorovodValue::None && equals != std::string::npos)
      value = words[i].substr(equals + 1);
    else if (flag->value != HorovodValue::None && i + 1 < words.size())
      value = words[++i];
    else if (flag->value != HorovodValue::None)
      throw Error::bad_input("{} needs a value", flag->name);
    translate(*flag, {.name = std::string(flag->name), .value = value}, command);
  }
  return command;
}

std::string horovodrun_help() {
  std::string text;
  for (const HorovodFlag& flag : detail::kHorovodFlags) {
    if (flag.action == detail::HorovodAction::Note || flag.action == detail::HorovodAction::Refuse ||
        flag.name == flag.ours)
      continue;
    text += fmt::format("  {:<40} {}\n", flag.name, flag.ours);
  }
  return text;
}

}  // namespace ronde::launch
