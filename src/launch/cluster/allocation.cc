#include "ronde/launch/cluster/allocation.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

constexpr int kMostHosts = 100'000;

struct Known {
  Scheduler scheduler;
  std::string_view name, flag, job_variable;
};
constexpr auto kKnown = std::to_array<Known>({
    {Scheduler::Slurm, "Slurm", "slurm", "SLURM_JOB_ID"},
    {Scheduler::Lsf, "LSF", "lsf", "LSB_JOBID"},
    {Scheduler::Pbs, "PBS", "pbs", "PBS_JOBID"},
});

Error bad_list(std::string_view origin, std::string_view text) {
  return Error::bad_input("{}={}: not a list of hosts, such as n[01-03,7],gpu1", origin, text);
}

// Cuts at commas that stand outside of brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (text[i] != ',' || depth != 0) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

// "01-03" -> 01 02 03: as many digits as the first number has.
std::vector<std::string> numbers_of(std::string_view range) {
  const auto dash = range.find('-');
  const auto low_text = range.substr(0, dash);
  const auto low = parse_number<int>(low_text);
  const auto high = dash == std::string_view::npos ? low : parse_number<int>(range.substr(dash + 1));
  std::vector<std::string> numbers;
  if (!low || !high || *low < 0 || *high < *low || *high - *low >= kMostHosts) return numbers;
  for (int number = *low; number <= *high; ++number) numbers.push_back(fmt::format("{:0{}}", number, low_text.size()));
  return numbers;
}

// One name with any number of brackets.
std::vector<std::string> expand(std::string_view text, const Error& wrong) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos) {
    if (text.empty() || close != std::string_view::npos) throw wrong;
    return {std::string(text)};
  }
  if (close == std::string_view::npos || close < open) throw wrong;
  const auto rest = text.substr(close + 1);
  const auto tails = rest.empty() ? std::vector<std::string>{""} : expand(rest, wrong);
  std::vector<std::string> names;
  for (const auto range : split(text.substr(open + 1, close - open - 1), ',')) {
    const auto numbers = numbers_of(range);
    if (numbers.empty() || names.size() + numbers.size() * tails.size() > kMostHosts) throw wrong;
    for (const std::string& number : numbers)
      for (const std::string& tail : tails) names.push_back(std::string(text.substr(0, open)) + number + tail);
  }
  return names;
}

// A list of numbers a node, when the variable is there.
std::optional<std::vector<int>> numbers_a_node(const Environment& environment, const char* variable,
                                               std::size_t nodes) {
  const auto text = environment.get(variable);
  if (!text) return {};
  auto counts = parse_layout(*text, variable);
  if (counts.size() != nodes)
    throw Error::bad_input("{}={} is about {}, SLURM_JOB_NODELIST about {}", variable, *text,
                           counted(counts.size(), "node"), nodes);
  return counts;
}

std::optional<Allocation> slurm(const Environment& environment) {
  const char* variable = environment.get("SLURM_JOB_NODELIST") ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST";
  const auto text = environment.get(variable);
  if (!text) return {};
  const auto names = expand_nodelist(*text, variable);
  const auto tasks = numbers_a_node(environment, "SLURM_TASKS_PER_NODE", names.size());
  const auto cpus = numbers_a_node(environment, "SLURM_JOB_CPUS_PER_NODE", names.size());
  Allocation allocation{.scheduler = Scheduler::Slurm, .hosts = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int slots = tasks ? (*tasks)[i] : 1;
    allocation.hosts.push_back({names[i], slots, std::max(slots, cpus ? (*cpus)[i] : 1)});
  }
  if (const auto ranks = environment.get("SLURM_NTASKS")) {
    const auto number = parse_number<int>(*ranks);
    if (!number || *number < 1) throw Error::bad_input("SLURM_NTASKS={}: not a number of ranks", *ranks);
    allocation.ranks = *number;
  }
  return allocation;
}

// Where jobs are started by jsrun, the first host runs the batch script and nothing else.
bool begins_with_batch_host(const Environment& environment, const std::vector<Host>& hosts) {
  if (hosts.size() < 2) return false;
  return environment.get("CSM_ALLOCATION_ID") || hosts.front().name.starts_with("batch");
}

// "n1 4 n2 4".
std::vector<Host> parse_mcpu_hosts(const std::string& text) {
  std::vector<Host> hosts;
  std::string name;
  for (const auto word : split(text, ' ')) {
    if (word.empty()) continue;
    if (name.empty()) {
      name = word;
      continue;
    }
    const auto slots = parse_number<int>(word);
    if (!slots || *slots < 1) throw Error::bad_input("LSB_MCPU_HOSTS={}: '{}' is not a number of slots", text, word);
    add_slots(hosts, name, *slots);
    name.clear();
  }
  if (hosts.empty() || !name.empty())
    throw Error::bad_input("LSB_MCPU_HOSTS={}: not a list of hosts and slots, such as 'n1 4 n2 4'", text);
  return hosts;
}

std::optional<Allocation> lsf(const Environment& environment, const ReadFile& read) {
  Allocation allocation{.scheduler = Scheduler::Lsf, .hosts = {}};
  if (const auto file = environment.get("LSB_DJOB_HOSTFILE"))
    allocation.hosts = parse_hostfile(read(*file), *file);
  else if (const auto text = environment.get("LSB_MCPU_HOSTS"))
    allocation.hosts = parse_mcpu_hosts(*text);
  else
    return {};
  if (begins_with_batch_host(environment, allocation.hosts)) allocation.hosts.erase(allocation.hosts.begin());
  return allocation;
}

std::optional<Allocation> pbs(const Environment& environment, const ReadFile& read) {
  const auto file = environment.get("PBS_NODEFILE");
  if (!file) return {};
  return Allocation{.scheduler = Scheduler::Pbs, .hosts = parse_hostfile(read(*file), *file)};
}

}  // namespace

std::string_view name(Scheduler scheduler) {
  return std::ranges::find(kKnown, scheduler, &Known::scheduler)->name;
}

Scheduler parse_scheduler(std::string_view name) {
  const auto known = std::ranges::find(kKnown, name, &Known::flag);
  if (known == kKnown.end()) throw Error::bad_input("unknown batch system '{}'; use slurm, lsf or pbs", name);
  return known->scheduler;
}

std::optional<Scheduler> scheduler_of(const Environment& environment) {
  for (const Known& known : kKnown)
    if (environment.get(known.job_variable)) return known.scheduler;
  return {};
}

std::vector<std::string> expand_nodelist(std::string_view text, std::string_view origin) {
  const Error wrong = bad_list(origin, text);
  std::vector<std::string> names;
  for (const auto piece : split_outside_brackets(text))
    for (std::string& name : expand(piece, wrong)) names.push_back(std::move(name));
  return names;
}

std::optional<Allocation> allocation_from(const Environment& environment, const ReadFile& read) {
  if (auto found = slurm(environment)) return found;
  if (auto found = lsf(environment, read)) return found;
  return pbs(environment, read);
}

}  // namespace ronde::launch
