#include "ronde/base/system/hardware.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde {
namespace {

using Kind = Hardware::Kind;

// Sixteen lanes, one way, after their line code.
constexpr double kPcie3 = 15.75, kPcie4 = 31.5, kPcie5 = 63.0;

constexpr Hardware gpu(std::string_view name, std::string_view also, std::array<double, 4> tflops, double memory_gb_s,
                       double memory_gb, std::string_view host_link, double host_gb_s, std::string_view peer_link = {},
                       double peer_gb_s = 0) {
  return {.name = name,
          .also = also,
          .kind = Kind::Gpu,
          .f32 = tflops[0],
          .tf32 = tflops[1],
          .bf16 = tflops[2],
          .f16 = tflops[3],
          .memory_gb_s = memory_gb_s,
          .memory_gb = memory_gb,
          .host_link = host_link,
          .host_gb_s = host_gb_s,
          .peer_link = peer_link,
          .peer_gb_s = peer_gb_s};
}

// What a core of a generation does in a cycle.
struct CoreRate {
  double f32, bf16 = 0, f16 = 0;
};
constexpr CoreRate kAvx2{32};            // two units of 256 bits
constexpr CoreRate kAvx512{64};          // two units of 512 bits
constexpr CoreRate kAmx{64, 2048, 128};  // a tile unit for bf16, vectors for f16
constexpr CoreRate kZen4{32, 64};        // 512 bits in two halves; bf16 products in pairs
constexpr CoreRate kSve512{64, 0, 128};
constexpr CoreRate kNeoverseV2{32, 128, 64};  // four units of 128 bits; bf16 as small matrices

constexpr Hardware cpu(std::string_view name, std::string_view also, int cores, double ghz, const CoreRate& core,
                       double memory_gb_s, double memory_gb = 0) {
  const double cycles = cores * ghz / 1000;
  return {.name = name,
          .also = also,
          .kind = Kind::Cpu,
          .f32 = cycles * core.f32,
          .bf16 = cycles * core.bf16,
          .f16 = cycles * core.f16,
          .memory_gb_s = memory_gb_s,
          .memory_gb = memory_gb};
}

constexpr auto kHardware = std::to_array<Hardware>({
    // f32, tf32, bf16, f16; memory GB/s, GB
    gpu("K40", "Tesla K40m|Tesla K40c", {4.29, 0, 0, 0}, 288, 12, "PCIe 3", kPcie3),
    gpu("K80", "", {4.37, 0, 0, 0}, 240, 12, "PCIe 3", kPcie3),
    gpu("P100-PCIe-12GB", "", {9.3, 0, 0, 18.7}, 549, 12, "PCIe 3", kPcie3),
    gpu("P100-PCIe-16GB", "", {9.3, 0, 0, 18.7}, 732, 16, "PCIe 3", kPcie3),
    gpu("P100-SXM2-16GB", "", {10.6, 0, 0, 21.2}, 732, 16, "PCIe 3", kPcie3, "NVLink 1", 80),
    gpu("V100-PCIe-16GB", "", {14, 0, 0, 112}, 900, 16, "PCIe 3", kPcie3),
    gpu("V100-PCIe-32GB", "", {14, 0, 0, 112}, 900, 32, "PCIe 3", kPcie3),
    gpu("V100-SXM2-16GB", "", {15.7, 0, 0, 125}, 900, 16, "PCIe 3", kPcie3, "NVLink 2", 150),
    gpu("V100-SXM2-32GB", "", {15.7, 0, 0, 125}, 900, 32, "PCIe 3", kPcie3, "NVLink 2", 150),
    gpu("T4", "", {8.1, 0, 0, 65}, 320, 16, "PCIe 3", kPcie3),
    gpu("A100-PCIe-40GB", "", {19.5, 156, 312, 312}, 1555, 40, "PCIe 4", kPcie4, "NVLink 3", 300),
    gpu("A100-SXM4-40GB", "", {19.5, 156, 312, 312}, 1555, 40, "PCIe 4", kPcie4, "NVLink 3", 300),
    gpu("A100-PCIe-80GB", "", {19.5, 156, 312, 312}, 1935, 80, "PCIe 4", kPcie4, "NVLink 3", 300),
    gpu("A100-SXM4-80GB", "", {19.5, 156, 312, 312}, 2039, 80, "PCIe 4", kPcie4, "NVLink 3", 300),
    gpu("A10", "", {31.2, 62.5, 125, 125}, 600, 24, "PCIe 4", kPcie4),
    gpu("A30", "", {10.3, 82, 165, 165}, 933, 24, "PCIe 4", kPcie4, "NVLink 3", 100),
    gpu("A40", "", {37.4, 74.8, 149.7, 149.7}, 696, 48, "PCIe 4", kPcie4, "NVLink 3", 56.25),
    gpu("L4", "", {30.3, 60, 121, 121}, 300, 24, "PCIe 4", kPcie4),
    gpu("L40S", "", {91.6, 183, 362, 362}, 864, 48, "PCIe 4", kPcie4),
    gpu("RTX 3090", "", {35.6, 35.6, 71, 71}, 936, 24, "PCIe 4", kPcie4, "NVLink 3", 56.25),
    gpu("RTX 4090", "", {82.6, 82.6, 165.2, 165.2}, 1008, 24, "PCIe 4", kPcie4),
    gpu("H100-PCIe", "", {51, 378, 756, 756}, 2000, 80, "PCIe 5", kPcie5, "NVLink 4", 300),
    gpu("H100-SXM", "H100 80GB HBM3|H100 SXM5", {67, 494, 989, 989}, 3350, 80, "PCIe 5", kPcie5, "NVLink 4", 450),
    gpu("H200", "", {67, 494, 989, 989}, 4800, 141, "PCIe 5", kPcie5, "NVLink 4", 450),
    gpu("GH200-96GB", "GH200 480GB", {67, 494, 989, 989}, 4000, 96, "NVLink-C2C", 450, "NVLink 4", 450),
    gpu("GH200-144GB", "GH200 144G HBM3e", {67, 494, 989, 989}, 4900, 144, "NVLink-C2C", 450, "NVLink 4", 450),
    gpu("B200", "", {75, 1100, 2250, 2250}, 7700, 180, "PCIe 5", kPcie5, "NVLink 5", 900),
    // f32 of AMD's is that of the matrix units, which compute in f32 throughout.
    gpu("MI100", "", {46.1, 0, 92.3, 184.6}, 1228.8, 32, "PCIe 4", kPcie4, "Infinity Fabric", 138),
    gpu("MI210", "", {45.3, 0, 181, 181}, 1638.4, 64, "PCIe 4", kPcie4, "Infinity Fabric", 150),
    gpu("MI250X", "", {47.85, 0, 191.5, 191.5}, 1638.4, 64, "PCIe 4", kPcie4, "Infinity Fabric", 200),
    gpu("MI300X", "", {163.4, 653.7, 1307.4, 1307.4}, 5300, 192, "PCIe 5", kPcie5, "Infinity Fabric", 448),
    // cores, GHz; memory GB/s of all channels
    cpu("Xeon E5-2680 v3", "Haswell", 12, 2.5, kAvx2, 68.3),
    cpu("Xeon E5-2690 v4", "Broadwell", 14, 2.6, kAvx2, 76.8),
    cpu("Xeon Gold 6148", "Skylake", 20, 2.4, kAvx512, 128),
    cpu("Xeon Platinum 8168", "", 24, 2.7, kAvx512, 128),
    cpu("Xeon Gold 6248", "Cascade Lake", 20, 2.5, kAvx512, 140.8),
    cpu("Xeon Platinum 8280", "", 28, 2.7, kAvx512, 140.8),
    cpu("Xeon Platinum 8360Y", "Ice Lake", 36, 2.4, kAvx512, 204.8),
    cpu("Xeon Platinum 8380", "", 40, 2.3, kAvx512, 204.8),
    cpu("Xeon Platinum 8480+", "Sapphire Rapids", 56, 2.0, kAmx, 307.2),
    cpu("Xeon Platinum 8468", "", 48, 2.1, kAmx, 307.2),
    cpu("EPYC 7742", "Rome", 64, 2.25, kAvx2, 204.8),
    cpu("EPYC 7763", "Milan", 64, 2.45, kAvx2, 204.8),
    cpu("EPYC 9654", "Genoa", 96, 2.4, kZen4, 460.8),
    cpu("A64FX", "", 48, 2.2, kSve512, 1024, 32),
    cpu("Grace", "Neoverse-V2", 72, 3.1, kNeoverseV2, 500, 480),
});

// "Tesla V100-SXM2-16GB" is the words tesla, v100, sxm2 and 16gb, in any order.
using Words = std::set<std::string>;

Words words_of(std::string_view text) {
  Words words;
  std::string word;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) || letter == '+') {
      word += static_cast<char>(std::tolower(byte));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

bool within(const Words& some, const Words& all) {
  return std::ranges::includes(all, some);
}

std::vector<std::string_view> names_of(const Hardware& one) {
  std::vector<std::string_view> names{one.name};
  if (!one.also.empty())
    for (const std::string_view other : split(one.also, '|')) names.push_back(other);
  return names;
}

// "RTX 3090 Ti" is another card than "RTX 3090".
bool other_variant(const Words& reported, const Words& known) {
  static constexpr auto kVariants = std::to_array<std::string_view>({"ti", "super", "laptop", "d", "mobile", "max"});
  return std::ranges::any_of(kVariants, [&](std::string_view variant) {
    return reported.contains(std::string(variant)) && !known.contains(std::string(variant));
  });
}

// Those that have all of the words in one of their names.
std::vector<const Hardware*> with_words(const Words& words) {
  std::vector<const Hardware*> found;
  if (words.empty()) return found;
  for (const Hardware& one : kHardware)
    if (std::ranges::any_of(names_of(one), [&](std::string_view name) { return within(words, words_of(name)); }))
      found.push_back(&one);
  return found;
}

std::vector<std::string> names_of(const std::vector<const Hardware*>& several) {
  std::vector<std::string> names;
  for (const Hardware* one : several) names.emplace_back(one->name);
  return names;
}

}  // namespace

std::span<const Hardware> all_hardware() {
  return kHardware;
}

const Hardware* match_hardware(std::string_view reported) {
  const Words words = words_of(reported);
  const Hardware* best = nullptr;
  std::size_t most = 0;
  for (const Hardware& one : kHardware)
    for (const std::string_view name : names_of(one)) {
      const Words known = words_of(name);
      if (known.size() <= most || !within(known, words) || other_variant(words, known)) continue;
      best = &one;
      most = known.size();
    }
  return best;
}

const Hardware& find_hardware(std::string_view name) {
  if (const Hardware* matched = match_hardware(name)) return *matched;
  const auto several = with_words(words_of(name));
  if (several.size() == 1) return *several.front();
  if (several.size() > 1)
    throw Error::bad_input("hardware '{}' is ambiguous: it may be any of {}; name one of them", name,
                           join(names_of(several), ", "));
  std::vector<std::string> names;
  for (const Hardware& one : kHardware)
    for (const std::string_view known : names_of(one)) names.emplace_back(known);
  const auto near = nearest(name, names);
  std::vector<const Hardware*> all;
  for (const Hardware& one : kHardware) all.push_back(&one);
  throw Error::bad_input("no published figures for hardware '{}'{}; known hardware: {}", name,
                         near ? fmt::format(" (did you mean {}?)", *near) : std::string(), join(names_of(all), ", "));
}

ProductRate product_rate(const MachineRates& machine, std::string_view precision, bool tf32) {
  if (precision == "bf16" && machine.bf16 > 0) return {"bf16", machine.bf16};
  if (precision == "f16" && machine.f16 > 0) return {"f16", machine.f16};
  if (tf32 && machine.tf32 > 0) return {"tf32", machine.tf32};
  return {"f32", machine.f32};
}

MachineRates rates_of(const Hardware& hardware, int count) {
  const double times = count;
  return {.name = fmt::format("{}{}, as published", count > 1 ? fmt::format("{} x ", count) : "", hardware.name),
          .kind = hardware.kind,
          .f32 = times * hardware.f32,
          .tf32 = times * hardware.tf32,
          .bf16 = times * hardware.bf16,
          .f16 = times * hardware.f16,
          .memory_gb_s = times * hardware.memory_gb_s,
          .memory_gb = times * hardware.memory_gb,
          .host_gb_s = hardware.host_gb_s,
          .peer_gb_s = hardware.peer_gb_s};
}

}  // namespace ronde
