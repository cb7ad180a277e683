#include "ronde/trace/settings.h"

namespace ronde::trace {

std::optional<RecorderOptions> options_from(const Settings& settings) {
  RecorderOptions options{.folder = settings.get<"trace.dir">(), .bytes = settings.get<"trace.bytes">()};
  try {
    options.steps = parse_step_window(settings.get<"trace.steps">());
  } catch (const Error& error) {
    throw Error::bad_input("setting trace.steps: {}", error.message());
  }
  if (options.folder.empty()) return {};
  return options;
}

}  // namespace ronde::trace
