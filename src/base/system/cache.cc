#include "ronde/base/system/cache.h"

namespace ronde {

std::filesystem::path cache_folder(const Environment& environment) {
  if (const auto caches = environment.get("XDG_CACHE_HOME"); caches && caches->starts_with('/'))
    return std::filesystem::path(*caches) / "ronde";
  if (const auto home = environment.get("HOME"); home && !home->empty())
    return std::filesystem::path(*home) / ".cache" / "ronde";
  return {};
}

}  // namespace ronde
