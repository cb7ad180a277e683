#include "ronde/base/environment.h"

#include <unistd.h>

namespace ronde {

Environment Environment::of_process() {
  Environment environment{};
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.variables_.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return {};
  return found->second;
}

}  // namespace ronde
