#include "ronde/launch/restart.h"

#include <algorithm>

#include "ronde/base/format.h"
#include "ronde/base/text.h"
#include "ronde/base/units.h"
#include "ronde/launch/outcome.h"

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

RestartDecision start_again(const RestartRules& rules, int attempt, const JobEnd& end, int ranks,
                            const std::vector<HostSlots>& hosts, const std::string& left_out) {
  RestartDecision decision{.again = true, .hosts = hosts, .ranks = ranks, .delay = delay_after(rules, attempt)};
  decision.sentence =
      fmt::format("starting again in {}, restart {} of {}", format_duration(decision.delay), attempt, rules.most);
  if (!left_out.empty())
    decision.sentence += fmt::format(", without {}: {}", left_out, counted(static_cast<std::size_t>(ranks), "rank"));
  decision.sentence += fmt::format(" (exit code {})", end.exit_code);
  return decision;
}

}  // namespace

RestartDecision decide_restart(const RestartRules& rules, int attempt, const JobEnd& end, int ranks,
                               const std::vector<HostSlots>& hosts) {
  if (rules.most == 0 || end.exit_code == 0 || end.interrupted || end.exit_code == kToBeContinued) return {};
  if (end.exit_code == kWrongInput)
    return give_up("not started again: exit code 2 stands for wrong input, which would be wrong again");
  if (attempt > rules.most)
    return give_up(
        fmt::format("not started again: {} did not help", counted(static_cast<std::size_t>(rules.most), "restart")));

  std::vector<HostSlots> others = hosts;
  const bool known = std::erase_if(others, [&](const HostSlots& host) { return host.host == end.failed_host; }) > 0;
  const int least = rules.min_ranks > 0 ? rules.min_ranks : ranks;
  const int can_run = std::min(ranks, room(others));
  if (known && !others.empty() && can_run >= least)
    return start_again(rules, attempt, end, can_run, others, end.failed_host);
  if (end.host_lost)
    return give_up(fmt::format("not started again: {} is gone, and without it there is room for {}, fewer than {}",
                               end.failed_host, counted(static_cast<std::size_t>(room(others)), "rank"), least));
  return start_again(rules, attempt, end, ranks, hosts, "");
}

}  // namespace ronde::launch
