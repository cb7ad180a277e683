#include <chrono>
#include <cstdio>
#include <vector>

#include <ronde/base/error.h>
#include <ronde/base/settings/environment.h>
#include <ronde/base/settings/settings.h>
#include <ronde/comm/engine.h>
#include <ronde/comm/socket_bootstrap.h>

int main() {
  using namespace ronde;
  try {
    const auto environment = Environment::of_process();
    const auto options = comm::engine_options(Settings::load(environment, {}));
    comm::Engine engine(comm::bootstrap_from(environment, Deadline::after(options.start_timeout)), options);
    std::vector<double> energy(100, engine.rank() + 1.0);
    engine.world().allreduce("energy", comm::buffer_of(energy), {.op = comm::ReduceOp::Average}).wait();
    std::printf("rank %d of %d: %.1f\n", engine.rank(), engine.size(), energy.front());
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
