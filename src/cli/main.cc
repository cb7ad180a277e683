#include <cstdio>
#include <exception>
#include <span>

#include "ronde/base/environment.h"
#include "ronde/base/error.h"
#include "ronde/base/format.h"
#include "ronde/cli/app.h"

int main(int count, char** arguments) {
  try {
    return ronde::cli::run(std::span<const char* const>(arguments, static_cast<std::size_t>(count)),
                           ronde::Environment::of_process());
  } catch (const ronde::Error& error) {
    fmt::print(stderr, "ronde: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "ronde: {}\n", error.what());
    return 1;
  }
}
