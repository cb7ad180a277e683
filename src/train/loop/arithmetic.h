#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

// Which arithmetic a training uses, and what the hardware makes of it. All pure, but for read_cpu_facts().
namespace ronde::train {

// train.precision.
enum class Precision { F32, BF16, F16 };
std::string_view name(Precision precision);        // "bf16"
Precision parse_precision(std::string_view text);  // one of the setting's choices

// A processor, as Linux describes it.
struct CpuFacts {
  std::string name;             // "AMD EPYC 9654"; may be empty
  std::set<std::string> flags;  // "avx512f", "amx_bf16", ...
};
CpuFacts parse_cpu_facts(std::string_view cpuinfo);  // the text of /proc/cpuinfo
CpuFacts read_cpu_facts();

struct GpuFacts {
  std::string name;          // "NVIDIA A100"
  int major = 0, minor = 0;  // compute capability 8.0: major 8, minor 0
  bool tf32 = true;          // device.tf32
};

// What a training runs on: a GPU, where there is one, or else the processor.
struct HardwareFacts {
  CpuFacts cpu = {};
  std::optional<GpuFacts> gpu = {};
};

// One sentence on what really computes: "bf16 by AVX-512 BF16 instructions of AMD EPYC 9654".
std::string arithmetic_sentence(Precision precision, const HardwareFacts& facts);
// Where another precision would be faster on this hardware, why; otherwise nothing.
std::optional<std::string> arithmetic_advice(Precision precision, const HardwareFacts& facts);

// FAILS WITH: BadInput for a precision that the hardware lacks.
void require_precision(Precision precision, const HardwareFacts& facts);

}  // namespace ronde::train
