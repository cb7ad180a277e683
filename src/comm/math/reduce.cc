#include "ronde/comm/math/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "ronde/comm/math/convert.h"
#include "ronde/comm/math/reduce_compiled.h"
#include "ronde/comm/math/reduce_value.h"

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // clang does not have ivdep: there, in-place sums are slower

namespace ronde::comm::math {
namespace {

// The type to add and multiply in. Integers wrap around, for which C++ wants them unsigned and not promoted to int.
template <class T>
struct Arithmetic {
  using type = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
};
template <std::floating_point T>
struct Arithmetic<T> {
  using type = T;
};
template <class T>
using ArithmeticOf = typename Arithmetic<T>::type;

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<ArithmeticOf<T>>(a) + static_cast<ArithmeticOf<T>>(b));
  }
};

struct Product {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<ArithmeticOf<T>>(a) * static_cast<ArithmeticOf<T>>(b));
  }
};

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// A NaN in `a` stays by itself, since no comparison with it holds. Without branches: |, not ||.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return ((b < a) | is_nan(b)) ? b : a;
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    return ((b > a) | is_nan(b)) ? b : a;
  }
};

// out[i] = scale * (left[i] op right[i]) for floating-point types, left[i] op right[i] for the others.
template <class Op, class T>
struct Combine {
  template <Level>
  [[gnu::always_inline]] static void run(std::byte* out, const std::byte* left, const std::byte* right,
                                         std::size_t count, double scale) {
    auto* const to = reinterpret_cast<T*>(out);
    const auto* const a = reinterpret_cast<const T*>(left);
    const auto* const b = reinterpret_cast<const T*>(right);
    // `out` may be `left` or `right`: no element depends on another, which the compiler cannot know.
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) {
      const T value = Op::apply(a[i], b[i]);
      if constexpr (std::is_floating_point_v<T>) {
        to[i] = value * static_cast<T>(scale);
      } else {
        to[i] = value;
      }
    }
  }
};

using Kernel = void(std::byte*, const std::byte*, const std::byte*, std::size_t, double);

template <class Op, class T>
constexpr PerLevel<Kernel> kCombine =
    compiled<Combine<Op, T>, std::byte*, const std::byte*, const std::byte*, std::size_t, double>;

template <class T>
struct KernelPerOp {  // in the order of ReduceOp
  static constexpr std::array value = {kCombine<Sum, T>, kCombine<Sum, T>, kCombine<Min, T>, kCombine<Max, T>,
                                       kCombine<Product, T>};
};

constexpr auto kKernels = per_dtype<KernelPerOp>();

Kernel* kernel_of(DType dtype, ReduceOp op, Level level) {
  if (dtype == DType::Bool) op = op == ReduceOp::Product || op == ReduceOp::Min ? ReduceOp::Min : ReduceOp::Max;
  return at(kKernels[index(dtype)][static_cast<std::size_t>(op)], level);
}

struct Range {
  DType dtype;
  std::size_t offset;  // in bytes
  std::size_t count;
  Level level;
};

using Block = std::byte[kBlockBytes];

// Where the values of a range of `input` are: there, or in `block` if they had to be widened.
const std::byte* values_of(const std::byte* input, const Range& range, Block& block) {
  if (!is_half(range.dtype)) return input + range.offset;
  convert(DType::F32, block, range.dtype, input + range.offset, range.count, range.level);
  return block;
}

// REQUIRES: at least two inputs, a range whose values fit into a block.
void reduce_range(Kernel* combine, std::byte* out, std::span<const std::byte* const> inputs, const Range& range,
                  double scale) {
  alignas(64) Block left, right;
  std::byte* const result = is_half(range.dtype) ? left : out + range.offset;
  const std::byte* values = values_of(inputs.front(), range, left);
  for (const std::byte* input : inputs.subspan(1, inputs.size() - 2)) {
    combine(left, values, values_of(input, range, right), range.count, 1.0);
    values = left;
  }
  combine(result, values, values_of(inputs.back(), range, right), range.count, scale);
  if (is_half(range.dtype)) convert(range.dtype, out + range.offset, DType::F32, result, range.count, range.level);
}

}  // namespace

void reduce(DType dtype, ReduceOp op, std::byte* out, std::span<const std::byte* const> inputs, std::size_t count,
            double scale, Level level) {
  const std::size_t size = size_of(dtype);
  if (inputs.size() == 1) {
    if (count > 0 && out != inputs[0]) std::memcpy(out, inputs[0], count * size);
    return math::scale(dtype, out, count, scale, level);
  }
  Kernel* const combine = kernel_of(dtype, op, level);
  const std::size_t block = values_in_block(dtype);
  for (std::size_t done = 0; done < count; done += block) {
    const Range range = {dtype, done * size, std::min(block, count - done), level};
    reduce_range(combine, out, inputs, range, scale);
    // What `combine` does not scale, while it is still in the cache.
    if (!is_floating_point(dtype)) math::scale(dtype, out + range.offset, range.count, scale, level);
  }
}

}  // namespace ronde::comm::math
