#include "ronde/base/settings/environment.h"

#include <unistd.h>

#include <fstream>

namespace ronde {

Environment Environment::of_process() {
  Environment environment{};
  for (char** entry = environ; entry && *entry; ++entry) environment.add(*entry);
  return environment;
}

std::optional<Environment> Environment::of_process(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  if (!file) return {};
  Environment environment{};
  for (std::string entry; std::getline(file, entry, '\0');) environment.add(entry);
  return environment;
}

void Environment::add(std::string_view entry) {
  const auto equals = entry.find('=');
  if (equals != std::string_view::npos) variables_.emplace(entry.substr(0, equals), entry.substr(equals + 1));
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return {};
  return found->second;
}

}  // namespace ronde
