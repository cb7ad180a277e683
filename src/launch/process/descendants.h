#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string_view>

#include "ronde/base/system/clock.h"

namespace ronde::launch::detail {

// As long as it lives, this process becomes the parent of every descendant whose own parent dies: nothing that it has
// started can get away by a double fork or a session of its own.
class Subreaper {
 public:
  Subreaper();
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;
  ~Subreaper();

 private:
  int before_ = 0;
};

// Kills and reaps all children, then those that come to us by their death, until there are none or time is over.
// Costs one system call when there are none.
void end_children(Deadline until);

// The same for children that are not among `kept`, once: those that come to us by these deaths are for the next call.
void end_children_but(std::span<const pid_t> kept);

// The parent of a process, from the text of its /proc/PID/stat.
std::optional<pid_t> parent_in(std::string_view stat);

}  // namespace ronde::launch::detail
