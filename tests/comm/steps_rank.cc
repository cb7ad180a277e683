// usage: steps_rank [VALUES]. Does steps together with the others until something fails, and then says what it has
// heard, and when, in the file said.RANK: what it prints may not come through when the network is gone. Where there is
// a file pause.RANK, that rank stays away from the next step.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

constexpr int kStepsBeforeReady = 5;  // plans are made by then

// Whole lines: whoever reads the file may be quick.
void write(int rank, const std::string& line) {
  std::ofstream(fmt::format("said.{}", rank), std::ios::app) << line + "\n" << std::flush;
}

[[noreturn]] void pause(int rank) {
  write(rank, "paused");
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void run(std::size_t values) {
  // Must outlive the engine: when a step fails, its requests are still on their way.
  std::vector<float> large(values), small(10);
  const auto engine = make_engine();
  const int rank = engine->rank();
  try {
    for (int step = 0;; ++step) {
      const Handle first = engine->world().allreduce("large", buffer_of(large));
      const Handle second = engine->world().allreduce("small", buffer_of(small));
      first.wait();
      second.wait();
      if (step == kStepsBeforeReady) write(rank, fmt::format("ready {}", ::getpid()));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (step % 10 == 0 && std::filesystem::exists(fmt::format("pause.{}", rank))) pause(rank);
    }
  } catch (const Error& error) {
    write(rank, fmt::format("hears at {}: {}: {}", monotonic_now().count(), name(error.kind()), error.what()));
  }
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int argc, char** argv) {
  const std::size_t values = argc > 1 ? std::stoul(argv[1]) : 300'000;
  return ronde::comm::tests::run_program([values] { ronde::comm::tests::run(values); });
}
