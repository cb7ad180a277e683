// What running_ranks() reads below /proc. Everything may vanish while it is looked at.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <tuple>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/place/where.h"
#include "ronde/launch/process/descendants.h"
#include "ronde/launch/run/rank_environment.h"

namespace ronde::launch {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string command_of(const fs::path& process) {
  constexpr std::size_t kEnough = 70;
  std::string text = read_all(process / "cmdline");
  if (text.ends_with('\0')) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  std::ranges::replace(text, '\n', ' ');
  if (text.size() > kEnough) text = text.substr(0, kEnough) + "...";
  return text;
}

std::vector<ThreadPlacement> threads_of(const fs::path& process) {
  std::vector<ThreadPlacement> threads;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(process / "task", gone))
    if (auto thread = parse_thread(read_all(entry.path() / "stat"), read_all(entry.path() / "status")))
      threads.push_back(std::move(*thread));
  return threads;
}

// FAILS WITH: BadInput for a process that has variables like ours with something else in them.
std::optional<RankProcess> read_process(const fs::path& folder, pid_t pid) {
  const auto environment = Environment::of_process(pid);
  if (!environment) return {};
  const auto job = environment->get(kJobVariable), cpus = environment->get(kCpusVariable);
  const auto rank = parse_number<int>(environment->get("RANK").value_or(""));
  const auto size = parse_number<int>(environment->get("WORLD_SIZE").value_or(""));
  if (!job || !cpus || !rank || !size) return {};
  RankProcess process{.job = *job,
                      .rank = *rank,
                      .size = *size,
                      .pid = pid,
                      .parent = detail::parent_in(read_all(folder / "stat")).value_or(0),
                      .command = command_of(folder),
                      .owned = topology::CpuSet::parse(*cpus),
                      .threads = threads_of(folder)};
  if (process.threads.empty()) return {};
  return process;
}

}  // namespace

std::vector<RankProcess> running_ranks() {
  std::vector<RankProcess> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const auto pid = parse_number<pid_t>(entry.path().filename().string());
    if (!pid) continue;
    try {
      if (auto process = read_process(entry.path(), *pid)) found.push_back(std::move(*process));
    } catch (const Error&) {  // not a rank of ours
    }
  }
  std::ranges::sort(found, {}, [](const RankProcess& each) { return std::tuple(each.job, each.rank, each.pid); });
  return found;
}

}  // namespace ronde::launch
