#include "ronde/bench/machine/pss.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "ronde/base/text/text.h"

namespace ronde::bench::detail {
namespace {

std::uint64_t current_pss() {
  std::ifstream file("/proc/self/smaps_rollup");
  return parse_pss(std::string{std::istreambuf_iterator<char>(file), {}});
}

}  // namespace

std::uint64_t parse_pss(std::string_view rollup) {
  for (const auto line : split(rollup, '\n')) {
    if (!line.starts_with("Pss:")) continue;
    const auto words = split(trim(line.substr(4)), ' ');
    return parse_number<std::uint64_t>(words.front()).value_or(0) * 1024;
  }
  return 0;
}

PssPeak::PssPeak()
    : thread_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          peak_ = std::max(peak_.load(), current_pss());
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }) {}

}  // namespace ronde::bench::detail
