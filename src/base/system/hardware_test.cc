#include "ronde/base/system/hardware.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

std::string matched(std::string_view reported) {
  const Hardware* found = match_hardware(reported);
  return found ? std::string(found->name) : "nothing";
}

std::string refusal(std::string_view name) {
  try {
    return fmt::format("found {}", find_hardware(name).name);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
}

TEST(Hardware, FiguresHangTogether) {
  std::set<std::string_view> names;
  for (const Hardware& one : all_hardware()) {
    SCOPED_TRACE(one.name);
    EXPECT_TRUE(names.insert(one.name).second);
    EXPECT_GT(one.f32, 0);
    EXPECT_GT(one.memory_gb_s, 0);
    for (const double narrower : {one.tf32, one.bf16, one.f16}) {
      EXPECT_TRUE(narrower == 0 || narrower >= one.f32);
      EXPECT_LT(narrower, 60 * one.f32);
    }
    EXPECT_TRUE(one.tf32 == 0 || one.bf16 >= one.tf32);
    EXPECT_EQ(one.peer_gb_s > 0, !one.peer_link.empty());
    EXPECT_EQ(one.host_gb_s > 0, one.kind == Hardware::Kind::Gpu);
    EXPECT_EQ(one.host_gb_s > 0, !one.host_link.empty());
    if (one.kind == Hardware::Kind::Gpu) {
      EXPECT_GE(one.memory_gb, 12);
      EXPECT_LT(one.host_gb_s, one.memory_gb_s);
      EXPECT_LT(one.peer_gb_s, one.memory_gb_s);
    }
    // In the time of a byte from memory all of them do between 5 and 110 operations of f32; a slip by ten would show.
    EXPECT_GT(one.f32 * 1e3, 5 * one.memory_gb_s);
    EXPECT_LT(one.f32 * 1e3, 110 * one.memory_gb_s);
  }
}

TEST(Hardware, EveryOneIsFoundByAllOfItsNames) {
  for (const Hardware& one : all_hardware()) {
    EXPECT_EQ(find_hardware(one.name).name, one.name);
    EXPECT_EQ(matched(one.name), one.name);
  }
  EXPECT_EQ(find_hardware("Sapphire Rapids").name, "Xeon Platinum 8480+");
}

TEST(Hardware, KnowsWhatDriversAndProcessorsCallThemselves) {
  EXPECT_EQ(matched("NVIDIA H200"), "H200");
  EXPECT_EQ(matched("Tesla V100-SXM2-16GB"), "V100-SXM2-16GB");
  EXPECT_EQ(matched("Tesla V100-PCIE-32GB"), "V100-PCIe-32GB");
  EXPECT_EQ(matched("Tesla K80"), "K80");
  EXPECT_EQ(matched("Tesla P100-PCIE-16GB"), "P100-PCIe-16GB");
  EXPECT_EQ(matched("NVIDIA A100-SXM4-80GB"), "A100-SXM4-80GB");
  EXPECT_EQ(matched("NVIDIA A100 80GB PCIe"), "A100-PCIe-80GB");
  EXPECT_EQ(matched("NVIDIA H100 80GB HBM3"), "H100-SXM");
  EXPECT_EQ(matched("NVIDIA H100 PCIe"), "H100-PCIe");
  EXPECT_EQ(matched("NVIDIA GH200 480GB"), "GH200-96GB");
  EXPECT_EQ(matched("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(matched("AMD Instinct MI250X"), "MI250X");
  EXPECT_EQ(matched("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"), "Xeon Gold 6148");
  EXPECT_EQ(matched("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"), "Xeon E5-2680 v3");
  EXPECT_EQ(matched("Intel(R) Xeon(R) Platinum 8480+"), "Xeon Platinum 8480+");
  EXPECT_EQ(matched("AMD EPYC 7742 64-Core Processor"), "EPYC 7742");
}

TEST(Hardware, ANearMissIsNoMatch) {
  for (const char* other : {"", "NVIDIA", "Tesla", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 Laptop GPU",
                            "NVIDIA L40", "Tesla V100", "GB", "Intel(R) Xeon(R) Processor", "\xff\xfe", "----"})
    EXPECT_EQ(matched(other), "nothing") << other;
}

TEST(Hardware, AUserMayWriteLess) {
  EXPECT_EQ(find_hardware("h200").name, "H200");
  EXPECT_EQ(find_hardware("a100-sxm4-80gb").name, "A100-SXM4-80GB");
  EXPECT_EQ(find_hardware("epyc 7763").name, "EPYC 7763");
  EXPECT_EQ(find_hardware("3090").name, "RTX 3090");
}

TEST(Hardware, WhatIsUnclearOrUnknownIsSaid) {
  EXPECT_EQ(refusal("V100-SXM2"),
            "hardware 'V100-SXM2' is ambiguous: it may be any of V100-SXM2-16GB, V100-SXM2-32GB; name one of them");
  EXPECT_NE(refusal("H20O").find("did you mean H200?"), std::string::npos);
  EXPECT_NE(refusal("").find("no published figures"), std::string::npos);
  EXPECT_NE(refusal("abacus").find("known hardware: K40, K80"), std::string::npos);
}

TEST(Hardware, TwoSocketsDoTwiceAsMuch) {
  const Hardware& rome = find_hardware("EPYC 7742");
  const MachineRates two = rates_of(rome, 2);
  EXPECT_EQ(two.name, "2 x EPYC 7742, as published");
  EXPECT_DOUBLE_EQ(two.f32, 2 * rome.f32);
  EXPECT_DOUBLE_EQ(two.memory_gb_s, 409.6);
  EXPECT_EQ(two.disk_gb_s, 0);
  EXPECT_EQ(rates_of(find_hardware("H200")).name, "H200, as published");
}

TEST(Hardware, ProductsRunInWhatTheMachineHasUnitsFor) {
  const MachineRates gpu{.name = "x", .f32 = 60, .tf32 = 400, .bf16 = 900};
  EXPECT_EQ(product_rate(gpu, "bf16", false).tflops, 900);
  EXPECT_EQ(product_rate(gpu, "f16", false).name, "f32");
  EXPECT_EQ(product_rate(gpu, "f32", true).name, "tf32");
  EXPECT_EQ(product_rate(gpu, "f32", false).tflops, 60);
  EXPECT_EQ(product_rate({}, "bf16", true).tflops, 0);
}

}  // namespace
}  // namespace ronde
