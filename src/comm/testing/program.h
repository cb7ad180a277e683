#pragma once

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/comm/engine/engine_hooks.h"
#include "ronde/comm/socket_bootstrap.h"

// For programs that tests start under `ronde run`, one process a rank.
namespace ronde::comm::tests {

inline EngineOptions options_of_process() {
  return engine_options(Settings::load(Environment::of_process(), {}));
}

inline std::unique_ptr<Engine> make_engine(EngineOptions options = options_of_process(),
                                           detail::EngineHooks hooks = {}) {
  auto bootstrap = bootstrap_from(Environment::of_process(), Deadline::after(options.start_timeout));
  return detail::make_engine(std::move(bootstrap), std::move(options), std::move(hooks));
}

// A line in one piece, at once: whoever reads it may be waiting for it.
inline void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// What main returns: of an error that nobody has caught it prints the reason.
template <class Body>
int run_program(Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace ronde::comm::tests
