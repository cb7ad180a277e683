#include "ronde/trace/settings.h"

#include "ronde/base/settings/settings.h"

namespace ronde::trace {

std::optional<RecorderOptions> options_from(const Settings& settings) {
  if (settings.get<"trace.dir">().empty()) return {};
  return RecorderOptions{.folder = settings.get<"trace.dir">(),
                         .bytes = settings.get<"trace.bytes">(),
                         .steps = settings.get<"trace.steps">(),
                         .filter = settings.get<"trace.filter">()};
}

}  // namespace ronde::trace
