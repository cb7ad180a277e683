#include "ronde/launch/process/descendants.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace ronde::launch::detail {
namespace {

// True when there is no child left.
bool reap() {
  pid_t pid = 0;
  do pid = waitpid(-1, nullptr, WNOHANG);
  while (pid > 0);
  return pid < 0;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    if (parent_in(stat) == getpid()) found.push_back(pid);
  }
  return found;
}

}  // namespace

Subreaper::Subreaper() {
  prctl(PR_GET_CHILD_SUBREAPER, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Subreaper::~Subreaper() {
  prctl(PR_SET_CHILD_SUBREAPER, before_);
}

void end_children(Deadline until) {
  auto pause = std::chrono::milliseconds(1);
  while (!reap() && !until.passed()) {
    for (const pid_t child : children()) kill(child, SIGKILL);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(16));
  }
}

void end_children_but(std::span<const pid_t> kept) {
  for (const pid_t child : children()) {
    if (std::ranges::find(kept, child) != kept.end()) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// "17 (name) S 4 ...": the name may hold anything, blanks and brackets too.
std::optional<pid_t> parent_in(std::string_view stat) {
  const auto name_end = stat.rfind(')');
  constexpr std::size_t kToParent = 4;  // ") S "
  if (name_end == std::string_view::npos || stat.size() <= name_end + kToParent) return {};
  const std::string_view rest = stat.substr(name_end + kToParent);
  pid_t parent = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), parent).ec != std::errc()) return {};
  return parent;
}

}  // namespace ronde::launch::detail
