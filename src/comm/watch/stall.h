#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Who keeps whom waiting, from what members tell each other; pure, but for the last.
namespace ronde::comm::detail {

// What a member tells in the first step: what it has waited for too long, one title a line.
std::string write_titles(std::span<const std::string> titles);
// What all of them wait for, each once, in the members' order.
std::vector<std::string> join_titles(std::span<const std::string> told);

// What a member tells in the second step: which of these it has, whether it wants to give up, and what it does.
struct StallAnswer {
  std::vector<bool> has = {};
  bool give_up = false;
  std::string doing = {};  // "step 17, last request allreduce 'w' 3 s ago"
};
std::string write_answer(const StallAnswer& answer);
StallAnswer read_answer(const std::string& text);

// One thing that some wait for and others lack.
struct Stall {
  std::string title = {};
  std::vector<int> missing = {};  // members that lack it
  std::vector<int> waiting = {};  // members that have it
};
std::vector<Stall> find_stalls(std::span<const std::string> titles, std::span<const StallAnswer> answers);

// "'w' waits 31 s for rank 1 on b2 (pid 77; step 17, last request allreduce 'x' 3 s ago)". `doing` by member of
// `stall.missing`, who they are included.
std::string describe_stall(const Stall& stall, const std::string& elapsed, std::span<const std::string> doing);

// When something must be said about those that do not come; zero: never.
struct StallTimes {
  std::chrono::nanoseconds warn{0}, abort{0};
};
// When to ask members next who is silent, because it must be said; none: there is no need to. All since the round
// began. `asked`: when last; zero: not yet. `pause`: at least so long between questions.
std::optional<std::chrono::nanoseconds> next_question(StallTimes due, std::chrono::nanoseconds asked,
                                                      std::chrono::nanoseconds pause);

// Whether a process of this machine has ended, also when its parent has not looked yet.
bool process_has_ended(int pid);
// Whether a process of this machine is stopped, as SIGSTOP and debuggers do it.
bool process_is_stopped(int pid);

}  // namespace ronde::comm::detail
