#include "ronde/train/loop/arithmetic.h"

#include <fstream>
#include <iterator>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::train {
namespace {

bool has(const CpuFacts& cpu, std::initializer_list<const char*> flags) {
  for (const char* flag : flags)
    if (!cpu.flags.contains(flag)) return false;
  return true;
}

std::string vectors(const CpuFacts& cpu) {
  if (has(cpu, {"avx512f", "avx512bw", "avx512dq", "avx512vl"})) return "AVX-512";
  if (has(cpu, {"avx2", "fma"})) return "AVX2";
  if (has(cpu, {"sve"})) return "SVE";
  if (has(cpu, {"asimd"})) return "NEON";
  return "plain";
}

// Instructions that multiply in the short type itself; empty: there are none.
std::string own_instructions(Precision precision, const CpuFacts& cpu) {
  if (precision == Precision::BF16) {
    if (has(cpu, {"amx_tile", "amx_bf16"})) return "AMX";
    if (has(cpu, {"avx512_bf16"})) return "AVX-512 BF16";
    if (has(cpu, {"bf16", "asimd"})) return "NEON BF16";
  }
  if (precision == Precision::F16) {
    if (has(cpu, {"amx_tile", "amx_fp16"})) return "AMX";
    if (has(cpu, {"avx512_fp16"})) return "AVX-512 FP16";
    if (has(cpu, {"asimdhp"})) return "NEON FP16";
  }
  return "";
}

bool at_least(const GpuFacts& gpu, int major, int minor) {
  return gpu.major > major || (gpu.major == major && gpu.minor >= minor);
}

// Tensor cores came with 7.0, and those for bf16 and TF32 with 8.0; 7.5 of the GTX 16 series, without any, is rare.
bool tensor_cores(Precision precision, const GpuFacts& gpu) {
  if (precision == Precision::F16) return at_least(gpu, 7, 0);
  return at_least(gpu, 8, 0) && (precision == Precision::BF16 || gpu.tf32);
}

std::string label(const GpuFacts& gpu) {
  return fmt::format("{} (compute capability {}.{})", gpu.name, gpu.major, gpu.minor);
}

std::string of_cpu(const CpuFacts& cpu) {
  return cpu.name.empty() ? std::string("this processor") : cpu.name;
}

std::string gpu_sentence(Precision precision, const GpuFacts& gpu) {
  if (precision == Precision::F32 && tensor_cores(precision, gpu))
    return fmt::format("f32, with products in TF32 on the tensor cores of {}", label(gpu));
  return fmt::format("{} on the {} of {}", name(precision),
                     tensor_cores(precision, gpu) ? "tensor cores" : "plain cores", label(gpu));
}

}  // namespace

std::string_view name(Precision precision) {
  if (precision == Precision::BF16) return "bf16";
  return precision == Precision::F16 ? "f16" : "f32";
}

Precision parse_precision(std::string_view text) {
  for (const Precision one : {Precision::F32, Precision::BF16, Precision::F16})
    if (name(one) == text) return one;
  throw Error::bad_input("unknown precision '{}': use f32, bf16 or f16", text);
}

// x86 calls them flags, ARM Features; all processors of a machine are taken to be like the first.
CpuFacts parse_cpu_facts(std::string_view cpuinfo) {
  CpuFacts facts;
  for (const auto line : split(cpuinfo, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    if (key == "model name" && facts.name.empty()) facts.name = value;
    if ((key != "flags" && key != "Features") || !facts.flags.empty()) continue;
    for (const auto flag : split(value, ' ')) facts.flags.emplace(flag);
  }
  return facts;
}

CpuFacts read_cpu_facts() {
  std::ifstream file("/proc/cpuinfo");
  return parse_cpu_facts(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string arithmetic_sentence(Precision precision, const HardwareFacts& facts) {
  if (facts.gpu) return gpu_sentence(precision, *facts.gpu);
  const CpuFacts& cpu = facts.cpu;
  if (precision == Precision::F32) return fmt::format("f32 with {} instructions of {}", vectors(cpu), of_cpu(cpu));
  if (const std::string own = own_instructions(precision, cpu); !own.empty())
    return fmt::format("{} with {} instructions of {}", name(precision), own, of_cpu(cpu));
  return fmt::format("{} in memory, computed in f32 with {} instructions of {}, which has no instructions for {}",
                     name(precision), vectors(cpu), of_cpu(cpu), name(precision));
}

std::optional<std::string> arithmetic_advice(Precision precision, const HardwareFacts& facts) {
  if (facts.gpu) {
    if (precision == Precision::F32 && at_least(*facts.gpu, 8, 0))
      return fmt::format("training runs in f32, but bf16 would be faster on {}: try train.precision = bf16",
                         facts.gpu->name);
    if (precision == Precision::F32 && at_least(*facts.gpu, 7, 0))
      return fmt::format("training runs in f32, but f16 would be faster on {}: try train.precision = f16",
                         facts.gpu->name);
    return {};
  }
  const std::string for_bf16 = own_instructions(Precision::BF16, facts.cpu);
  if (precision == Precision::F32 && !for_bf16.empty())
    return fmt::format(
        "training runs in f32, but bf16 would be faster with the {} instructions of {}: try train.precision = bf16",
        for_bf16, of_cpu(facts.cpu));
  if (precision != Precision::F32 && own_instructions(precision, facts.cpu).empty())
    return fmt::format("{} has no instructions for {}: it will be slower than {}", of_cpu(facts.cpu), name(precision),
                       precision == Precision::F16 && !for_bf16.empty() ? "bf16" : "f32");
  return {};
}

void require_precision(Precision precision, const HardwareFacts& facts) {
  if (!facts.gpu || precision == Precision::F32) return;  // processors can do all of them
  const bool bf16 = precision == Precision::BF16;
  if (at_least(*facts.gpu, bf16 ? 8 : 5, bf16 ? 0 : 3)) return;
  throw Error::bad_input("train.precision is {}, but {} does not support it: it needs compute capability {}; try {}",
                         name(precision), label(*facts.gpu), bf16 ? "8.0" : "5.3",
                         bf16 && at_least(*facts.gpu, 5, 3) ? "f16 or f32" : "f32");
}

}  // namespace ronde::train
