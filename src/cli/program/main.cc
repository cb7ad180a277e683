#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/cli/program/app.h"

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

// Who fails because another rank left ends after it: launchers name the first that ends, and pass its exit code on.
void let_the_cause_end_first(const ronde::Error& error) {
  if (error.kind() == ronde::Error::Kind::PeerLost) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments, static_cast<std::size_t>(count)});
  } catch (const ronde::Error& error) {
    complain(error.what());
    let_the_cause_end_first(error);
    return error.exit_code();
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}
