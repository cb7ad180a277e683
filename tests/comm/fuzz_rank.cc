// usage: fuzz_rank SEED SECONDS. Random requests between processes. Prints "ok 1234 checks".

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/fuzz.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

void run(std::uint64_t seed, std::chrono::seconds limit) {
  const auto engine = make_engine();
  const auto begin = monotonic_now();
  Fuzzer fuzzer(*engine, seed);
  std::vector<std::int32_t> goes_on{1};
  while (goes_on[0] != 0) {
    for (int step = 0; step < 20; ++step) fuzzer.step();
    if (!fuzzer.problems().empty()) throw std::runtime_error(fuzzer.problems().front());
    goes_on[0] = monotonic_now() - begin < limit ? 1 : 0;
    engine->world().broadcast("goes on", buffer_of(goes_on), 0).wait();  // what rank 0 says counts
  }
  fuzzer.finish();
  if (!fuzzer.problems().empty()) throw std::runtime_error(fuzzer.problems().front());
  say(fmt::format("ok {} checks", fuzzer.checks()));
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int count, char** arguments) {
  return ronde::comm::tests::run_program([&] {
    if (count != 3) throw std::runtime_error("usage: fuzz_rank SEED SECONDS");
    ronde::comm::tests::run(std::stoull(arguments[1]), std::chrono::seconds(std::stoi(arguments[2])));
  });
}
