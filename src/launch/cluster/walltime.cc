#include "ronde/launch/cluster/walltime.h"

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/cluster/allocation.h"

namespace ronde::launch {
namespace {

using std::chrono::seconds;

// "02:03:04", "03:04": numbers between colons, the last counting `unit` seconds.
std::optional<seconds> clock(std::string_view text, int unit) {
  std::int64_t total = 0;
  const auto pieces = split(text, ':');
  if (pieces.size() > 3) return {};
  for (const auto piece : pieces) {
    const auto number = parse_number<std::int64_t>(piece);
    if (!number || *number < 0 || *number > 1'000'000) return {};
    total = 60 * total + *number;
  }
  return seconds(total * unit);
}

// The value of "name = value" on a line of its own.
std::optional<std::string_view> attribute(std::string_view text, std::string_view name) {
  for (const auto line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals != std::string_view::npos && trim(line.substr(0, equals)) == name) return trim(line.substr(equals + 1));
  }
  return {};
}

std::optional<seconds> time_left(Scheduler scheduler, const Environment& environment, const Ask& ask) {
  const auto answer = [&](const char* job, std::vector<std::string> command) -> std::string {
    const auto id = environment.get(job);
    if (!id) return {};
    command.push_back(*id);
    return ask(command).value_or("");
  };
  switch (scheduler) {
    case Scheduler::Slurm:
      return squeue_time_left(answer("SLURM_JOB_ID", {"squeue", "--noheader", "--format=%L", "--jobs"}));
    case Scheduler::Lsf: return bjobs_time_left(answer("LSB_JOBID", {"bjobs", "-noheader", "-o", "time_left"}));
    case Scheduler::Pbs: return qstat_time_left(answer("PBS_JOBID", {"qstat", "-f"}));
  }
  return {};
}

}  // namespace

std::optional<seconds> squeue_time_left(std::string_view text) {
  text = trim(text);
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return clock(text, 1);
  const auto days = parse_number<int>(text.substr(0, dash));
  const auto rest = clock(text.substr(dash + 1), 1);
  if (!days || *days < 0 || !rest) return {};
  return std::chrono::days(*days) + *rest;
}

std::optional<seconds> bjobs_time_left(std::string_view text) {
  return clock(split(trim(text), ' ').front(), 60);
}

std::optional<seconds> qstat_time_left(std::string_view text) {
  const auto limit = attribute(text, "Resource_List.walltime");
  const auto used = attribute(text, "resources_used.walltime");
  if (!limit || !clock(*limit, 1)) return {};
  return *clock(*limit, 1) - clock(used.value_or("0"), 1).value_or(seconds(0));
}

std::optional<std::int64_t> job_end(const Environment& environment, std::chrono::system_clock::time_point now,
                                    const Ask& ask) {
  const auto scheduler = scheduler_of(environment);
  if (!scheduler) return {};
  if (const auto text = environment.get("SLURM_JOB_END_TIME"))
    if (const auto end = parse_number<std::int64_t>(*text); end && *end > 0) return end;
  const auto left = time_left(*scheduler, environment, ask);
  if (!left) return {};
  return std::chrono::duration_cast<seconds>(now.time_since_epoch() + *left).count();
}

std::string clock_text(seconds time) {
  const auto total = time.count();
  return fmt::format("{:02}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

}  // namespace ronde::launch
