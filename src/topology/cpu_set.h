#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::topology {

// A set of hardware threads, named by the numbers that the operating system gives them. An ordinary value.
//
//   CpuSet::parse("0-3,8").format() == "0-3,8"
//   CpuSet({0, 2, 4, 6}).format() == "0-6:2"       first-last:step, as taskset(1) has it
class CpuSet {
 public:
  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus);
  explicit CpuSet(std::vector<int> cpus);  // in any order; duplicates count once

  // FAILS WITH: BadInput for anything that is not a list of numbers, ranges and ranges with a step.
  static CpuSet parse(std::string_view text);
  std::string format() const;

  bool empty() const noexcept { return cpus_.empty(); }
  int size() const noexcept { return static_cast<int>(cpus_.size()); }
  bool contains(int cpu) const;
  int front() const { return cpus_.front(); }  // the lowest. REQUIRES: not empty
  auto begin() const noexcept { return cpus_.begin(); }
  auto end() const noexcept { return cpus_.end(); }

  CpuSet& operator|=(const CpuSet& other);
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b);
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::vector<int> cpus_;  // ascending, each once
};

}  // namespace ronde::topology
