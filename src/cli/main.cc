#include <cerrno>
#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "ronde/base/environment.h"
#include "ronde/base/error.h"
#include "ronde/cli/app.h"

namespace {

int run(std::span<const char* const> arguments) {
  const int code = ronde::cli::run(arguments, ronde::Environment::of_process());
  // What was printed may still be on its way to a disk that is full.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw ronde::Error::system(errno, "cannot write the output");
  return code;
}

// Nothing to be done when even this cannot be written.
void complain(const char* what) {
  std::fputs(("ronde: " + std::string(what) + "\n").c_str(), stderr);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments, static_cast<std::size_t>(count)});
  } catch (const ronde::Error& error) {
    complain(error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}
