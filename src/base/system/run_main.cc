#include "ronde/base/system/run_main.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "ronde/base/error.h"

namespace ronde {
namespace {

// Nothing to be done when even this cannot be written.
void complain(const std::string& name, const char* what) {
  std::fputs((name + ": " + what + "\n").c_str(), stderr);
}

int run_and_flush(const std::function<int()>& body) {
  const int code = body();
  // What was printed may still be on its way to a disk that is full.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw Error::system(errno, "cannot write the output");
  return code;
}

}  // namespace

int run_main(const std::string& name, const std::function<int()>& body) {
  try {
    return run_and_flush(body);
  } catch (const Error& error) {
    complain(name, error.what());
    if (error.kind() == Error::Kind::PeerLost) std::this_thread::sleep_for(std::chrono::seconds(1));
    return error.exit_code();
  } catch (const std::exception& error) {
    complain(name, error.what());
    return 1;
  }
}

}  // namespace ronde
