#include "ronde/comm/math/reduce_into_all.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ronde/comm/math/reduce.h"
#include "ronde/comm/math/reduce_compiled.h"

namespace ronde::comm::math {
namespace {

constexpr std::size_t kBlockBytes = 8 << 10;  // a result is still in the first cache when it is copied to the others

// The case that gradients of two ranks make: f32, summed. Results go from registers into both memories; reading them
// again to copy them took 1.7 times as long. Vectors are spelled out because at -O2 GCC 12 would not make any here.
struct SumIntoBoth {
  using Vector [[gnu::vector_size(32)]] = float;

  template <class T>
  [[gnu::always_inline]] static void step(std::byte* a, std::byte* b, float scale) {
    T x, y;
    std::memcpy(&x, a, sizeof(T));
    std::memcpy(&y, b, sizeof(T));
    x = (x + y) * scale;
    std::memcpy(a, &x, sizeof(T));
    std::memcpy(b, &x, sizeof(T));
  }

  template <Level>
  [[gnu::always_inline]] static void run(std::byte* a, std::byte* b, std::size_t bytes, float scale) {
    std::size_t at = 0;
#pragma GCC unroll 2
    for (; at + sizeof(Vector) <= bytes; at += sizeof(Vector)) step<Vector>(a + at, b + at, scale);
    for (; at < bytes; at += sizeof(float)) step<float>(a + at, b + at, scale);
  }
};

constexpr auto kSumIntoBoth = compiled<SumIntoBoth, std::byte*, std::byte*, std::size_t, float>;

// Two memories whose addresses agree in their low 28 bits, as those of two arenas of a round size do, slow the loop
// above down seven times on the EPYC that we measured, probably because AMD's first-level cache tells lines apart by
// these bits. Reducing and then copying suffers less.
bool share_tags(const std::byte* a, const std::byte* b) {
  return ((reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b)) & 0xfff'ffc0) == 0;
}

bool is_sum_of_two(const Reduction& reduction, std::span<std::byte* const> memories) {
  return memories.size() == 2 && reduction.dtype == DType::F32 &&
         (reduction.op == ReduceOp::Sum || reduction.op == ReduceOp::Average);
}

}  // namespace

void reduce_into_all(const Reduction& reduction, std::span<std::byte* const> memories, std::size_t bytes) {
  const Level level = best_level();
  if (is_sum_of_two(reduction, memories) && !share_tags(memories[0], memories[1]))
    return math::at(kSumIntoBoth, level)(memories[0], memories[1], bytes, static_cast<float>(reduction.scale));
  std::vector<const std::byte*> inputs(memories.size());
  for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
    const std::size_t block = std::min(kBlockBytes, bytes - at);
    std::transform(memories.begin(), memories.end(), inputs.begin(), [&](std::byte* memory) { return memory + at; });
    std::byte* out = memories[0] + at;
    reduce(reduction.dtype, reduction.op, out, inputs, block / size_of(reduction.dtype), reduction.scale, level);
    for (std::byte* memory : memories.subspan(1)) std::memcpy(memory + at, out, block);
  }
}

}  // namespace ronde::comm::math
