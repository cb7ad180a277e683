// usage: life_rank. Engines one after the other in one process; each is shut down twice. Prints "ok".

#include <stdexcept>
#include <vector>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

void run() {
  for (int time = 0; time < 4; ++time) {
    const auto engine = make_engine();
    for (int step = 0; step < 5; ++step) {
      std::vector<float> values(1000, 1.0f);
      engine->world().allreduce("values", buffer_of(values)).wait();
      if (values != std::vector<float>(1000, static_cast<float>(engine->size())))
        throw std::runtime_error("a wrong sum");
    }
    engine->world().barrier().wait();
    if (time % 2 == 0) engine->shutdown();
    if (time % 2 == 0) engine->shutdown("once more");
  }
  say("ok");
}

}  // namespace
}  // namespace ronde::comm::tests

int main() {
  return ronde::comm::tests::run_program(ronde::comm::tests::run);
}
