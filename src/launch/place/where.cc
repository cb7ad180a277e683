#include "ronde/launch/place/where.h"

#include <algorithm>
#include <map>
#include <set>

#include "ronde/base/error.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

using topology::CpuSet;

// The value behind "key:" in /proc/PID/status.
std::string_view value_of(std::string_view status, std::string_view key) {
  for (const std::string_view line : split(status, '\n'))
    if (line.starts_with(key) && line.substr(key.size()).starts_with(':')) return trim(line.substr(key.size() + 1));
  return {};
}

bool is_stray(const RankProcess& process, const ThreadPlacement& thread) {
  const bool may_stray = !(thread.allowed - process.owned).empty();
  return may_stray || (thread.running && !process.owned.contains(thread.last_cpu));
}

std::string cpus(const CpuSet& set) {
  return fmt::format("cpu{} {}", set.size() == 1 ? "" : "s", set.format());
}

// Processes of one rank together: the rank itself and what it has started.
struct RankSum {
  const RankProcess* first = nullptr;  // the oldest
  std::size_t processes = 0, threads = 0, strays = 0;
};

std::string table_of(const std::map<int, RankSum>& ranks) {
  Table table({{"rank", Align::Right},
               {"pid", Align::Right},
               {"owns cpus"},
               {"processes", Align::Right},
               {"threads", Align::Right},
               {"elsewhere", Align::Right}});
  for (const auto& [rank, sum] : ranks)
    table.add({std::to_string(rank), std::to_string(sum.first->pid), sum.first->owned.format(),
               std::to_string(sum.processes), std::to_string(sum.threads), std::to_string(sum.strays)});
  return table.text();
}

std::string line_about(const RankProcess& process, const ThreadPlacement& thread) {
  return fmt::format("rank {}: thread {} ({}) of process {} may run on {} and was last on cpu {}; its rank owns {}\n",
                     process.rank, thread.id, thread.name, process.pid, cpus(thread.allowed), thread.last_cpu,
                     cpus(process.owned));
}

std::string describe_job(const std::vector<const RankProcess*>& processes) {
  constexpr std::size_t kMostLines = 20;
  std::map<int, RankSum> ranks;
  std::vector<std::string> lines;
  for (const RankProcess* process : processes) {
    RankSum& sum = ranks[process->rank];
    if (!sum.first) sum.first = process;
    const auto strays = stray_threads(*process);
    ++sum.processes;
    sum.threads += process->threads.size();
    sum.strays += strays.size();
    for (const ThreadPlacement& thread : strays) lines.push_back(line_about(*process, thread));
  }
  const RankProcess& any = *processes.front();
  std::string text = fmt::format("job {}: {}\n", any.job, any.command);
  if (static_cast<int>(ranks.size()) != any.size)
    text += fmt::format("{} of its {} ranks are on this machine\n", ranks.size(), any.size);
  text += table_of(ranks);
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) text += lines[i];
  if (lines.size() > kMostLines) text += fmt::format("... and {} more\n", lines.size() - kMostLines);
  if (lines.empty()) text += "every thread stays on the cpus of its rank\n";
  return text;
}

}  // namespace

std::optional<ThreadPlacement> parse_thread(std::string_view stat, std::string_view status) {
  const auto begin = stat.find('('), end = stat.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  ThreadPlacement placement;
  placement.name = stat.substr(begin + 1, end - begin - 1);  // may hold anything, blanks and brackets too
  const auto id = parse_number<pid_t>(trim(stat.substr(0, begin)));
  const auto fields = split(trim(stat.substr(end + 1)), ' ');  // from the third on, as proc(5) counts them
  constexpr std::size_t kProcessor = 39 - 3;
  if (!id || fields.size() <= kProcessor) return {};
  const auto cpu = parse_number<int>(fields[kProcessor]);
  const std::string_view allowed = value_of(status, "Cpus_allowed_list");
  if (!cpu || allowed.empty()) return {};
  placement.id = *id;
  placement.running = fields.front() == "R";
  placement.last_cpu = *cpu;
  placement.allowed = CpuSet::parse(allowed);
  return placement;
}

std::vector<ThreadPlacement> stray_threads(const RankProcess& process) {
  std::vector<ThreadPlacement> strays;
  for (const ThreadPlacement& thread : process.threads)
    if (is_stray(process, thread)) strays.push_back(thread);
  return strays;
}

std::vector<RankProcess> choose_job(const std::vector<RankProcess>& processes, const std::string& which) {
  if (which.empty()) return processes;
  std::set<std::string> jobs;
  std::string meant;
  const auto pid = parse_number<pid_t>(which);
  for (const RankProcess& process : processes) {
    jobs.insert(process.job);
    if (process.job == which || (pid && (process.pid == *pid || process.parent == *pid))) meant = process.job;
  }
  if (meant.empty()) {
    const std::vector<std::string> names(jobs.begin(), jobs.end());
    throw Error::bad_input("there is no job {} on this machine, nor a job with a process of that number; {}", which,
                           names.empty() ? "you have no running jobs" : "running jobs: " + join(names, ", "));
  }
  std::vector<RankProcess> chosen;
  std::ranges::copy_if(processes, std::back_inserter(chosen), [&](const auto& each) { return each.job == meant; });
  return chosen;
}

std::string describe_placements(const std::vector<RankProcess>& processes) {
  std::string text;
  for (auto next = processes.begin(); next != processes.end();) {
    std::vector<const RankProcess*> job;
    for (const std::string id = next->job; next != processes.end() && next->job == id; ++next) job.push_back(&*next);
    text += (text.empty() ? "" : "\n") + describe_job(job);
  }
  return text;
}

}  // namespace ronde::launch
