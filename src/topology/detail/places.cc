#include "ronde/topology/detail/places.h"

#include "ronde/base/text/format.h"

namespace ronde::topology::detail {
namespace {

// "{0,64}", "{0:8}", "{0:8,64:8}": first number and length of each run.
std::string format_place(const CpuSet& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    auto end = at + 1;
    while (end != cpus.end() && *end == *(end - 1) + 1) ++end;
    text += text.empty() ? "" : ",";
    text += end - at > 1 ? fmt::format("{}:{}", *at, end - at) : fmt::format("{}", *at);
    at = end;
  }
  return '{' + text + '}';
}

// How many places of one cpu each follow from `at` on, `step` apart.
std::size_t run_of_singles(const std::vector<CpuSet>& places, std::size_t at, int step) {
  std::size_t length = 1;
  while (at + length < places.size() && places[at + length].size() == 1 && places[at].size() == 1 &&
         places[at + length].front() == places[at].front() + static_cast<int>(length) * step)
    ++length;
  return length;
}

}  // namespace

std::string format_places(const std::vector<CpuSet>& places) {
  std::string text;
  for (std::size_t at = 0; at < places.size();) {
    const int step = at + 1 < places.size() ? places[at + 1].front() - places[at].front() : 1;
    const std::size_t run = step > 0 ? run_of_singles(places, at, step) : 1;
    text += text.empty() ? "" : ",";
    text += format_place(places[at]);
    if (run > 1) text += step == 1 ? fmt::format(":{}", run) : fmt::format(":{}:{}", run, step);
    at += run;
  }
  return text;
}

}  // namespace ronde::topology::detail
