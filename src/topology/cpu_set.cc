#include "ronde/topology/cpu_set.h"

#include <algorithm>
#include <iterator>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::topology {
namespace {

// Far above any machine, far below what "0-999999999" would cost.
constexpr int kMaxCpu = 1 << 20;

int parse_cpu(std::string_view text, std::string_view whole) {
  const auto number = parse_number<int>(text);
  if (!number || *number < 0 || *number > kMaxCpu)
    throw Error::bad_input("'{}' is not a list of cpus such as 0-3,8: '{}' is not a cpu number", whole, text);
  return *number;
}

void parse_piece(std::string_view piece, std::string_view whole, std::vector<int>& cpus) {
  const std::size_t dash = piece.find('-');
  if (dash == std::string_view::npos) {
    cpus.push_back(parse_cpu(piece, whole));
    return;
  }
  const std::size_t colon = piece.find(':', dash);
  const int first = parse_cpu(piece.substr(0, dash), whole);
  const int last = parse_cpu(piece.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1), whole);
  const int step = colon == std::string_view::npos ? 1 : parse_cpu(piece.substr(colon + 1), whole);
  if (last < first || step == 0)
    throw Error::bad_input("'{}' is not a list of cpus such as 0-3,8: '{}' is not a range", whole, piece);
  for (int cpu = first; cpu <= last; cpu += step) cpus.push_back(cpu);
}

// How many numbers from `at` on follow one another by the same step.
std::size_t run_length(const std::vector<int>& cpus, std::size_t at) {
  if (at + 1 >= cpus.size()) return 1;
  const int step = cpus[at + 1] - cpus[at];
  std::size_t length = 2;
  while (at + length < cpus.size() && cpus[at + length] - cpus[at + length - 1] == step) ++length;
  return length;
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) : CpuSet(std::vector<int>(cpus)) {}

CpuSet::CpuSet(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  std::sort(cpus_.begin(), cpus_.end());
  cpus_.erase(std::unique(cpus_.begin(), cpus_.end()), cpus_.end());
}

CpuSet CpuSet::parse(std::string_view text) {
  std::vector<int> cpus;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    parse_piece(rest.substr(0, comma), text, cpus);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) parse_cpu(rest, text);
  }
  return CpuSet(std::move(cpus));
}

std::string CpuSet::format() const {
  constexpr std::size_t kShortestSteppedRun = 4;  // "0,2,4" reads better than "0-4:2"
  std::string text;
  for (std::size_t at = 0; at < cpus_.size();) {
    std::size_t run = run_length(cpus_, at);
    const int step = run > 1 ? cpus_[at + 1] - cpus_[at] : 1;
    if (run == 2 || (step > 1 && run < kShortestSteppedRun)) run = step == 1 ? 2 : 1;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus_[at]);
    if (run > 1) text += '-' + std::to_string(cpus_[at + run - 1]);
    if (run > 1 && step > 1) text += ':' + std::to_string(step);
    at += run;
  }
  return text;
}

bool CpuSet::contains(int cpu) const {
  return std::binary_search(cpus_.begin(), cpus_.end(), cpu);
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  std::vector<int> both;
  std::set_union(begin(), end(), other.begin(), other.end(), std::back_inserter(both));
  cpus_ = std::move(both);
  return *this;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result.cpus_));
  return result;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
  CpuSet result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result.cpus_));
  return result;
}

}  // namespace ronde::topology
