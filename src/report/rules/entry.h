#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ronde/report/advice.h"

// What a rule of advise() is: one file in entries/ says all there is to know about it, and CMake makes the list.
namespace ronde::report::rules {

// It decides how much a rule can bring at most (advice.cc), and which stage of the guide its advice belongs to.
enum class RuleGroup {
  Input,          // training waits for samples
  Balance,        // some ranks have more to do than others, or are slower
  Communication,  // training waits for other ranks
  Compute,        // the arithmetic itself could be faster
  Phases,         // one rank works alone, or all wait for a checkpoint
};

struct RuleEntry {
  std::string_view name;  // "slow_rank"
  RuleGroup group;
  // Pure. None: nothing to say. advise() fills in Advice::rule, limits the gain and leaves out what brings too little.
  // Exactly one of the two is set; `found` is the advice of the rules that come earlier in the list.
  std::optional<Advice> (*find)(const Evidence& evidence) = nullptr;
  std::optional<Advice> (*find_after)(const Evidence& evidence, const std::vector<Advice>& found) = nullptr;
  // Later rules on the same loss that know less about it: they are not tried where this one has something to say.
  std::vector<std::string_view> replaces = {};
  // Rules that find mere symptoms of this: left out where this one's gain explains half of theirs.
  std::vector<std::string_view> explains = {};
  std::string_view factor = {};  // key of the factor whose value Advice::because gives; empty: none
  // For the guide's experiment on compute, which is otherwise on one rank, with the advised setting.
  bool needs_all_ranks = false;  // ranks disturb each other's compute; its advice then belongs to that stage
  int batch_times = 1;           // the experiment changes the batch per rank instead
};

// All of them, in the order in which they are tried: that of CMakeLists.txt. Made anew by each call.
std::vector<RuleEntry> rule_entries();

// FAILS WITH: Bug for a name that no rule has.
RuleEntry find_rule(std::string_view name);

// What the efficiency tree does not count as lost.
inline bool is_about_speed(const RuleEntry& rule) {
  return rule.group == RuleGroup::Compute;
}

}  // namespace ronde::report::rules
