#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// What makers publish about GPUs and processors: the ceilings under which any program on them stays. Programs reach a
// part of it; `ronde bench roofline` measures how much. All functions are pure.
namespace ronde {

// Rates are of one device as a program sees it: one die of a board that has two (K80, MI250X), one socket of
// processors. Arithmetic counts dense products, a multiply-add as two, in 10^12 a second; 0: no units of their own for
// the type, it runs in f32 or not at all. Links are one way, in 10^9 bytes a second; 0: none.
struct Hardware {
  enum class Kind { Gpu, Cpu };

  std::string_view name;
  std::string_view also = {};  // what else it is called, with '|' between
  Kind kind = Kind::Gpu;
  // Processors: cores x base clock x what a core does in a cycle, since makers publish those.
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0;
  double memory_gb_s = 0;
  double memory_gb = 0;             // 10^9 bytes; 0: as much as was put in
  std::string_view host_link = {};  // to the processor
  double host_gb_s = 0;
  std::string_view peer_link = {};  // to all other GPUs together
  double peer_gb_s = 0;

  friend bool operator==(const Hardware&, const Hardware&) = default;
};

std::span<const Hardware> all_hardware();

// The one that a driver or /proc/cpuinfo calls by that name: "Tesla V100-SXM2-16GB", "AMD EPYC 7742 64-Core Processor".
// Null for one that is not in the table.
const Hardware* match_hardware(std::string_view reported);

// The one that a user calls by that name: as above, or enough of a name to tell it from others ("h200", "epyc 7763").
// FAILS WITH: BadInput, suggesting what may have been meant.
const Hardware& find_hardware(std::string_view name);

// What a whole machine, or one GPU of it, does a second: measured (`ronde bench roofline`) or published. Units are
// those of Hardware; 0: not known, or there is none.
struct MachineRates {
  std::string name;  // "measured on node7: AMD EPYC 7742", "H200, as published"
  Hardware::Kind kind = Hardware::Kind::Cpu;
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0;
  double memory_gb_s = 0, memory_gb = 0;
  double host_gb_s = 0, peer_gb_s = 0;
  double disk_gb_s = 0;
  // An allreduce of n bytes between so many ranks takes the latency and n / bandwidth.
  int allreduce_ranks = 0;
  double allreduce_us = 0, allreduce_gb_s = 0;

  friend bool operator==(const MachineRates&, const MachineRates&) = default;
};

// `count`: sockets of a processor that work together, 1 for a GPU.
MachineRates rates_of(const Hardware& hardware, int count = 1);

// What products of numbers in a precision ("f32", "bf16", "f16") run in on a machine, and how fast that is.
struct ProductRate {
  std::string_view name;  // "f32" where the machine has nothing better
  double tflops = 0;      // 0: not known
};
// `tf32`: products of f32 may run in it.
ProductRate product_rate(const MachineRates& machine, std::string_view precision, bool tf32);

// How wide values are that pass between layers, as a share of f32.
inline double width_of(std::string_view precision) {
  return precision.empty() || precision == "f32" ? 1.0 : 0.5;
}

}  // namespace ronde
