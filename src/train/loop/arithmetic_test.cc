#include "ronde/train/loop/arithmetic.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

const std::set<std::string> kAvx2{"avx2", "fma"};
const std::set<std::string> kAvx512{"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"};

std::set<std::string> with(std::set<std::string> flags, std::initializer_list<const char*> more) {
  flags.insert(more.begin(), more.end());
  return flags;
}

HardwareFacts cpu(const std::set<std::string>& flags) {
  return {.cpu = {.name = "Chip", .flags = flags}};
}

HardwareFacts gpu(int major, int minor, bool tf32 = true) {
  return {.cpu = {.name = "Chip", .flags = with(kAvx512, {"amx_tile", "amx_bf16"})},
          .gpu = GpuFacts{.name = "Card", .major = major, .minor = minor, .tf32 = tf32}};
}

TEST(Arithmetic, SaysWhatReallyComputes) {
  const struct {
    Precision precision;
    HardwareFacts facts;
    const char* sentence;
  } table[] = {
      {Precision::F32, cpu({}), "f32 with plain instructions of Chip"},
      {Precision::F32, cpu(kAvx2), "f32 with AVX2 instructions of Chip"},
      {Precision::F32, cpu(kAvx512), "f32 with AVX-512 instructions of Chip"},
      {Precision::F32, cpu({"asimd"}), "f32 with NEON instructions of Chip"},
      {Precision::F32, cpu({"asimd", "sve"}), "f32 with SVE instructions of Chip"},
      {Precision::BF16, cpu(kAvx2),
       "bf16 in memory, computed in f32 with AVX2 instructions of Chip, which has no instructions for bf16"},
      {Precision::BF16, cpu(with(kAvx512, {"avx512_bf16"})), "bf16 with AVX-512 BF16 instructions of Chip"},
      {Precision::BF16, cpu(with(kAvx512, {"avx512_bf16", "amx_tile", "amx_bf16"})),
       "bf16 with AMX instructions of Chip"},
      {Precision::F16, cpu(with(kAvx512, {"avx512_bf16"})),
       "f16 in memory, computed in f32 with AVX-512 instructions of Chip, which has no instructions for f16"},
      {Precision::F16, cpu(with(kAvx512, {"avx512_fp16"})), "f16 with AVX-512 FP16 instructions of Chip"},
      {Precision::F16, cpu(with(kAvx512, {"avx512_fp16", "amx_tile", "amx_fp16"})),
       "f16 with AMX instructions of Chip"},
      {Precision::F32, gpu(3, 5), "f32 on the plain cores of Card (compute capability 3.5)"},
      {Precision::F32, gpu(7, 0), "f32 on the plain cores of Card (compute capability 7.0)"},
      {Precision::F32, gpu(8, 0), "f32, with products in TF32 on the tensor cores of Card (compute capability 8.0)"},
      {Precision::F32, gpu(8, 0, false), "f32 on the plain cores of Card (compute capability 8.0)"},
      {Precision::F16, gpu(6, 0), "f16 on the plain cores of Card (compute capability 6.0)"},
      {Precision::F16, gpu(7, 0), "f16 on the tensor cores of Card (compute capability 7.0)"},
      {Precision::BF16, gpu(9, 0, false), "bf16 on the tensor cores of Card (compute capability 9.0)"},
  };
  for (const auto& row : table) EXPECT_EQ(arithmetic_sentence(row.precision, row.facts), row.sentence);
}

TEST(Arithmetic, WarnsWhereF32RunsAlthoughSomethingElseIsFaster) {
  const struct {
    Precision precision;
    HardwareFacts facts;
    const char* part;  // of the warning; nullptr: there is none
  } table[] = {
      {Precision::F32, cpu(kAvx512), nullptr},
      {Precision::F32, cpu(with(kAvx512, {"avx512_bf16"})), "bf16 would be faster with the AVX-512 BF16 instructions"},
      {Precision::F32, cpu(with(kAvx512, {"amx_tile", "amx_bf16"})), "bf16 would be faster with the AMX instructions"},
      {Precision::F32, cpu(with(kAvx512, {"amx_bf16"})), nullptr},  // the system does not allow tiles
      {Precision::BF16, cpu(with(kAvx512, {"avx512_bf16"})), nullptr},
      {Precision::BF16, cpu(kAvx2), "slower than f32"},
      {Precision::F16, cpu(with(kAvx512, {"avx512_bf16"})), "slower than bf16"},
      {Precision::F16, cpu(kAvx512), "slower than f32"},
      {Precision::F32, gpu(6, 0), nullptr},
      {Precision::F32, gpu(7, 5), "f16 would be faster on Card"},
      {Precision::F32, gpu(8, 0), "bf16 would be faster on Card"},
      {Precision::F32, gpu(9, 0, false), "bf16 would be faster on Card"},
      {Precision::BF16, gpu(9, 0), nullptr},
      {Precision::F16, gpu(9, 0), nullptr},
  };
  for (const auto& row : table) {
    const auto advice = arithmetic_advice(row.precision, row.facts);
    const std::string sentence = arithmetic_sentence(row.precision, row.facts);
    EXPECT_EQ(advice.has_value(), row.part != nullptr) << sentence;
    if (advice && row.part) {
      EXPECT_NE(advice->find(row.part), std::string::npos) << *advice;
    }
  }
}

TEST(Arithmetic, RefusesAPrecisionThatTheGpuLacks) {
  const auto refusal = [](Precision precision, const HardwareFacts& facts) -> std::string {
    try {
      require_precision(precision, facts);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(refusal(Precision::BF16, gpu(7, 5)),
            "train.precision is bf16, but Card (compute capability 7.5) does not support it: it needs compute "
            "capability 8.0; try f16 or f32");
  EXPECT_EQ(refusal(Precision::F16, gpu(5, 2)),
            "train.precision is f16, but Card (compute capability 5.2) does not support it: it needs compute "
            "capability 5.3; try f32");
  EXPECT_EQ(refusal(Precision::F16, gpu(5, 3)), "");
  EXPECT_EQ(refusal(Precision::BF16, gpu(8, 0)), "");
  EXPECT_EQ(refusal(Precision::F32, gpu(3, 0)), "");
  for (const Precision any : {Precision::F32, Precision::BF16, Precision::F16}) EXPECT_EQ(refusal(any, cpu({})), "");
}

TEST(CpuFacts, AreReadFromWhatLinuxSays) {
  const CpuFacts facts = parse_cpu_facts(
      "processor\t: 0\nmodel name\t: Some Chip @ 2 GHz\nflags\t\t: fpu avx2 avx512_bf16\n\n"
      "processor\t: 1\nmodel name\t: Other\nflags\t\t: none\n");
  EXPECT_EQ(facts.name, "Some Chip @ 2 GHz");
  EXPECT_EQ(facts.flags, (std::set<std::string>{"fpu", "avx2", "avx512_bf16"}));
  EXPECT_EQ(parse_cpu_facts("Features\t: asimd bf16\n").flags, (std::set<std::string>{"asimd", "bf16"}));
  EXPECT_TRUE(parse_cpu_facts("").flags.empty());
}

}  // namespace
}  // namespace ronde::train
