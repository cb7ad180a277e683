#include <span>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/run_main.h"
#include "ronde/cli/program/app.h"

int main(int count, char** arguments) {
  const std::span<const char* const> words(arguments, static_cast<std::size_t>(count));
  return ronde::run_main("ronde", [&] { return ronde::cli::run(words, ronde::Environment::of_process()); });
}
