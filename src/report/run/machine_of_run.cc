#include "ronde/report/run/machine_of_run.h"

namespace ronde::report {
namespace {

MachineRates with_links_of(MachineRates rates, const MachineRates& other) {
  rates.disk_gb_s = other.disk_gb_s;
  rates.allreduce_ranks = other.allreduce_ranks;
  rates.allreduce_us = other.allreduce_us;
  rates.allreduce_gb_s = other.allreduce_gb_s;
  return rates;
}

}  // namespace

std::optional<MachineRates> machine_of_run(const JobFacts& facts, const MachineSources& sources) {
  if (sources.said) return sources.said;
  const auto& here = sources.measured_here;
  const bool same = here && !facts.processor.empty() && here->name.find(facts.processor) != std::string::npos;
  if (facts.rates) return same ? with_links_of(*facts.rates, *here) : *facts.rates;
  if (same) return here;
  if (facts.processor.empty()) return {};
  if (const Hardware* known = match_hardware(facts.processor)) return rates_of(*known);
  return {};
}

}  // namespace ronde::report
