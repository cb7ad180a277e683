// usage: stalling_rank. The last rank sleeps until there is a file `go`; the others wait for it in an allreduce, and
// say how that ended.

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include <unistd.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

void run() {
  const auto engine = make_engine();
  const bool sleeps = engine->rank() == engine->size() - 1;
  engine->set_step(41);
  std::vector<float> values(10, 1.0f);
  engine->world().broadcast("weights", buffer_of(values), 0).wait();
  engine->set_step(42);
  say(fmt::format("pid {}", ::getpid()));
  while (sleeps && !std::filesystem::exists("go")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  try {
    engine->world().allreduce("gradient", buffer_of(values)).wait();
    say(fmt::format("sum {}", values.front()));
  } catch (const Error& error) {
    say(fmt::format("{}: {}", name(error.kind()), error.what()));
  }
  // Who has given up stays until the sleeper has come: that it is let down is its own message.
  while (!std::filesystem::exists("go")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace ronde::comm::tests

int main() {
  return ronde::comm::tests::run_program(ronde::comm::tests::run);
}
