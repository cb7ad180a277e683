#include "ronde/cli/run/deadline.h"

#include "ronde/base/text/units.h"
#include "ronde/launch/cluster/ask.h"
#include "ronde/launch/cluster/walltime.h"

namespace ronde::cli {

std::optional<std::int64_t> job_deadline(const Context& context) {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const auto ask = [&](const std::vector<std::string>& command) {
    return launch::ask_program(command, context.environment, seconds(5));
  };
  std::optional<std::int64_t> end = context.settings.get<"launch.deadline">();
  if (*end == 0) end = launch::job_end(context.environment, now, ask);
  if (!end) return {};
  const auto left = seconds(*end) - duration_cast<seconds>(now.time_since_epoch());
  if (left < seconds(0))
    context.log.warn("this job's time ended {} ago", format_duration(-left));
  else
    context.log.info("this job ends in {}", format_duration(left));
  return end;
}

}  // namespace ronde::cli
