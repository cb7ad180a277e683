#include "ronde/bench/machine/busy.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace ronde::bench::detail {
namespace {

CpuTime cpu_time_now() {
  std::string line;
  std::ifstream file("/proc/stat");
  std::getline(file, line);
  return parse_cpu_time(line);
}

}  // namespace

CpuTime parse_cpu_time(std::string_view stat) {
  std::istringstream words{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
  words >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
  if (name != "cpu" || !words) return {};
  return {.busy = user + nice + system + interrupts + soft_interrupts + stolen, .idle = idle + waiting};
}

double busy_share() {
  const CpuTime before = cpu_time_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const CpuTime after = cpu_time_now();
  const auto busy = static_cast<double>(after.busy - before.busy), idle = static_cast<double>(after.idle - before.idle);
  return busy + idle > 0 ? busy / (busy + idle) : 0.0;
}

}  // namespace ronde::bench::detail
