#include "ronde/train/plugin/load_plugins.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <torch/version.h>

#include "ronde/base/error.h"
#include "ronde/base/system/library.h"
#include "ronde/base/text/text.h"
#include "ronde/base/version.h"

namespace ronde::train {
namespace {

constexpr std::string_view kMark = "ronde plugin built with: ";  // as plugin.h writes it

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw Error::bad_input("plugin {} cannot be read", path.string());
  return bytes;
}

// Before any code of it runs: what was built with another libtorch may not even load.
void require_same_build(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    throw Error::bad_input("plugin {} does not exist", path.string());
  const auto theirs = build_in(bytes_of(path));
  if (!theirs)
    throw Error::bad_input("{} is not a plugin of Ronde: it has none of the macros of ronde/train/plugin.h",
                           path.string());
  if (*theirs != plugin_build())
    throw Error::bad_input("plugin {} was built with {}, but this is {}: build it again", path.string(), *theirs,
                           plugin_build());
}

void load(const std::filesystem::path& path, Registry& registry) {
  require_same_build(path);
  // A name without a slash would be looked for in the folders of the system.
  const Library library(std::filesystem::absolute(path).string());
  using Register = const char*(const char*, void*);
  library.function<Register>("ronde_plugin")(plugin_build().c_str(), &registry);
  try {
    registry.check();
  } catch (const Error& error) {
    throw Error::bad_input("plugin {}: {}", path.string(), error.message());
  }
}

}  // namespace

std::string plugin_build() {
  return fmt::format("ronde {} ({}), libtorch {}.{}.{}", version(), revision(), TORCH_VERSION_MAJOR,
                     TORCH_VERSION_MINOR, TORCH_VERSION_PATCH);
}

std::optional<std::string> build_in(std::string_view file) {
  const auto at = file.find(kMark);
  if (at == file.npos) return {};
  const auto text = file.substr(at + kMark.size());
  return std::string(text.substr(0, text.find('\0')));
}

std::shared_ptr<const Registry> with_plugins(const Settings& settings, std::shared_ptr<const Registry> own) {
  auto registry = own ? std::make_shared<Registry>(*own) : std::make_shared<Registry>();
  registry->check();
  const std::string files = settings.get<"plugin">();
  if (trim(files).empty()) return registry;
  for (const auto file : split(files, ',')) load(trim(file), *registry);
  return registry;
}

}  // namespace ronde::train
