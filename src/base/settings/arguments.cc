#include "ronde/base/settings/arguments.h"

#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde {
namespace {

std::string key_of(const std::string& flag) {
  std::vector<std::string> names = {"--set"};
  for (const Setting& setting : kSettings) {
    if (flag_name(setting) == flag) return std::string(setting.key);
    names.push_back(flag_name(setting));
  }
  const auto meant = nearest(flag, names);
  throw Error::bad_input("unknown argument '{}'{}", flag,
                         meant ? "; did you mean " + *meant + "?" : "; 'ronde info --settings' lists the known ones");
}

Settings::Flag pair_of(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw Error::bad_input("--set {}: write key=value", text);
  return {text.substr(0, equals), text.substr(equals + 1), "--set " + text.substr(0, equals)};
}

}  // namespace

Arguments read_arguments(std::span<const char* const> arguments) {
  Arguments found;
  for (std::size_t next = 0; next < arguments.size(); ++next) {
    const std::string word = arguments[next];
    if (!word.starts_with("--")) {
      found.words.push_back(word);
      continue;
    }
    const auto equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const std::string key = flag == "--set" ? "" : key_of(flag);
    if (equals == std::string::npos && next + 1 == arguments.size()) throw Error::bad_input("{} needs a value", flag);
    const std::string text = equals == std::string::npos ? arguments[++next] : word.substr(equals + 1);
    found.flags.push_back(key.empty() ? pair_of(text) : Settings::Flag{key, text, flag});
  }
  return found;
}

}  // namespace ronde
