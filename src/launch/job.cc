#include "ronde/launch/job.h"

#include "ronde/launch/detail/guarded.h"
#include "ronde/launch/detail/runner.h"
#include "ronde/launch/detail/spawn.h"

namespace ronde::launch {

int run_job(const Job& job) {
  const std::string program = detail::find_program(job.command.front(), job.environment);
  return detail::guarded([&](int lifeline) { return detail::Runner(job, program, lifeline).run(); });
}

}  // namespace ronde::launch
