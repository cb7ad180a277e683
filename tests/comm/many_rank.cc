// usage: many_rank [TENSORS [STEPS]]. One of many ranks: allreduces so many small tensors by name, some times over, and
// leaves. Rank 0 prints how long it took since its program began: to start, and to the end of the last step.

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

double seconds_since(std::chrono::nanoseconds begin) {
  return std::chrono::duration<double>(monotonic_now() - begin).count();
}

void run(int tensors, int steps) {
  constexpr std::size_t kValues = 16;
  const auto begin = monotonic_now();
  std::vector<std::vector<float>> values(static_cast<std::size_t>(tensors));
  std::vector<Handle> handles(values.size());
  const auto engine = make_engine();
  const double started = seconds_since(begin);
  const auto right = static_cast<float>(engine->size());
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].assign(kValues, 1.0F);
      handles[i] = engine->world().allreduce(fmt::format("tensor {}", i), buffer_of(values[i]));
    }
    for (const Handle& handle : handles) handle.wait();
    for (const auto& one : values)
      if (std::ranges::count(one, right) != std::ssize(one))
        throw Error(Error::Kind::Bug, fmt::format("rank {} has {}, not {}", engine->rank(), one.front(), right));
  }
  if (engine->rank() == 0)
    say(fmt::format("{} ranks on {} nodes, {} tensors, {} steps: started after {:.1f} s, done after {:.1f} s",
                    engine->size(), engine->nodes(), tensors, steps, started, seconds_since(begin)));
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int argc, char** argv) {
  const int tensors = argc > 1 ? std::stoi(argv[1]) : 1000, steps = argc > 2 ? std::stoi(argv[2]) : 1;
  return ronde::comm::tests::run_program([=] { ronde::comm::tests::run(tensors, steps); });
}
