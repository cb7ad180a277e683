#pragma once

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

// Whether a process of this machine is stopped, as SIGSTOP and debuggers do it.
bool process_is_stopped(int pid);

}  // namespace ronde::comm::detail
