#include "ronde/launch/run/restart.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch {
namespace {

constexpr int kWrongInput = 2;

std::chrono::nanoseconds delay_after(const RestartRules& rules, int attempt) {
  std::chrono::nanoseconds delay = rules.first_delay;
  for (int i = 1; i < attempt && delay < rules.longest_delay; ++i) delay *= 2;
  return std::min(delay, rules.longest_delay);
}

int room(const std::vector<HostSlots>& hosts) {
  int slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  return slots;
}

RestartDecision give_up(std::string sentence) {
  return {.sentence = std::move(sentence)};
}

// The machines to do without, if the others suffice. Ranks fail when a peer is lost, so a lost machine clears the
// others.
std::vector<std::string> suspects(const JobEnd& end) {
  return end.lost_hosts.empty() ? std::vector<std::string>{end.failed_host} : end.lost_hosts;
}

RestartDecision start_again(const RestartRules& rules, int attempt, const JobEnd& end, int ranks,
                            const std::vector<HostSlots>& hosts, const std::string& left_out) {
  RestartDecision decision{.again = true, .hosts = hosts, .ranks = ranks, .delay = delay_after(rules, attempt)};
  decision.sentence =
      fmt::format("starting again in {}, restart {} of {}", format_duration(decision.delay), attempt, rules.most);
  if (!left_out.empty())
    decision.sentence += fmt::format(", without {}{}: {}", left_out, end.lost_hosts.empty() ? "" : " (no answer)",
                                     counted(static_cast<std::size_t>(ranks), "rank"));
  decision.sentence += fmt::format(" (exit code {})", end.exit_code);
  return decision;
}

}  // namespace

RestartDecision decide_restart(const RestartRules& rules, int attempt, const JobEnd& end, int ranks,
                               const std::vector<HostSlots>& hosts) {
  if (rules.most == 0 || end.exit_code == 0 || end.interrupted || end.exit_code == kToBeContinued) return {};
  if (end.exit_code == kWrongInput)
    return give_up("not started again: exit code 2 means wrong input, and a restart would fail the same way");
  if (attempt > rules.most)
    return give_up(fmt::format("not started again: the job failed after {}",
                               counted(static_cast<std::size_t>(rules.most), "restart")));

  std::vector<HostSlots> others = hosts;
  const std::vector<std::string> without = suspects(end);
  const bool known = std::erase_if(others, [&](const HostSlots& host) {
                       return std::ranges::find(without, host.host) != without.end();
                     }) > 0;
  const int least = rules.min_ranks > 0 ? rules.min_ranks : ranks;
  const int can_run = std::min(ranks, room(others));
  if (known && !others.empty() && can_run >= least)
    return start_again(rules, attempt, end, can_run, others, join(without, ", "));
  if (!end.lost_hosts.empty())
    return give_up(
        fmt::format("not started again: no answer from {}, and the other hosts have room for {}, fewer than {}",
                    join(without, ", "), counted(static_cast<std::size_t>(room(others)), "rank"), least));
  return start_again(rules, attempt, end, ranks, hosts, "");
}

std::vector<std::string> silent_hosts(const std::vector<HostShare>& hosts, const std::set<int>& reported_ranks) {
  std::vector<std::string> silent;
  int rank = 0;
  for (const HostShare& host : hosts) {
    const auto first = reported_ranks.lower_bound(rank);
    rank += host.ranks;
    if (first == reported_ranks.end() || *first >= rank) silent.push_back(host.name);
  }
  return silent.size() < hosts.size() ? silent : std::vector<std::string>{};
}

}  // namespace ronde::launch
