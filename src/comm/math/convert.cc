#include "ronde/comm/math/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "ronde/base/error.h"
#include "ronde/comm/math/half.h"
#include "ronde/comm/math/reduce_compiled.h"
#include "ronde/comm/math/reduce_value.h"

namespace ronde::comm::math {
namespace {

// How a floating-point type lies in memory, and the way from there to a number and back.
template <class T>
struct Full {
  using Stored = T;
  static T widen(T value) { return value; }
  static T narrow(double value) { return static_cast<T>(value); }
};

struct F16 {
  using Stored = std::uint16_t;
  static float widen(Stored bits) { return widen_f16(bits); }
  static Stored narrow(float value) { return narrow_f16(value); }
  static Stored narrow(double value) { return narrow_f16(narrow_to_odd(value)); }
};

struct BF16 {
  using Stored = std::uint16_t;
  static float widen(Stored bits) { return widen_bf16(bits); }
  static Stored narrow(float value) { return narrow_bf16(value); }
  static Stored narrow(double value) { return narrow_bf16(narrow_to_odd(value)); }
};

template <Level level, class To, class From>
std::size_t convert_by_hardware(typename To::Stored* to, const typename From::Stored* from, std::size_t count) {
  if constexpr (std::is_same_v<From, F16> && std::is_same_v<To, Full<float>>) {
    return F16Hardware<level>::widen(to, from, count);
  } else if constexpr (std::is_same_v<From, Full<float>> && std::is_same_v<To, F16>) {
    return F16Hardware<level>::narrow(to, from, count);
  } else {
    return 0;
  }
}

template <class To, class From>
struct Convert {
  template <Level level>
  [[gnu::always_inline]] static void run(std::byte* out, const std::byte* in, std::size_t count) {
    auto* const to = reinterpret_cast<typename To::Stored*>(out);
    const auto* const from = reinterpret_cast<const typename From::Stored*>(in);
    const std::size_t done = convert_by_hardware<level, To, From>(to, from, count);
    for (std::size_t i = done; i < count; ++i) to[i] = To::narrow(From::widen(from[i]));
  }
};

using ConvertKernel = void(std::byte*, const std::byte*, std::size_t);

template <class To, class From>
constexpr PerLevel<ConvertKernel> kConvert = compiled<Convert<To, From>, std::byte*, const std::byte*, std::size_t>;

template <class To>
constexpr std::array kConvertTo = {kConvert<To, F16>, kConvert<To, BF16>, kConvert<To, Full<float>>,
                                   kConvert<To, Full<double>>};

// [to][from], from F16 on, as DType has them.
constexpr std::array kConverts = {kConvertTo<F16>, kConvertTo<BF16>, kConvertTo<Full<float>>, kConvertTo<Full<double>>};
static_assert(index(DType::F64) - index(DType::F16) == kConverts.size() - 1);

template <class T>
T truncate(double value) {
  constexpr double kLowest = std::numeric_limits<T>::min();
  // 2^63 - 1 is no f64: the largest below it.
  constexpr double kHighest = sizeof(T) < 8 ? static_cast<double>(std::numeric_limits<T>::max()) : 0x1.fffffffffffffp62;
  const double low = value > kLowest ? value : kLowest;
  return static_cast<T>(low < kHighest ? low : kHighest);
}

template <class T>
struct Multiply {
  template <Level>
  [[gnu::always_inline]] static void run(std::byte* data, std::size_t count, double factor) {
    auto* const values = reinterpret_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        values[i] *= static_cast<T>(factor);
      } else {
        values[i] = truncate<T>(static_cast<double>(values[i]) * factor);
      }
    }
  }
};

template <class T>
struct Divide {
  template <Level>
  [[gnu::always_inline]] static void run(std::byte* data, std::size_t count, double divisor) {
    auto* const values = reinterpret_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (sizeof(T) < 8) {
        // Vectors have no integer division. As f64 the quotient of such numbers never rounds up to a whole one.
        values[i] = static_cast<T>(static_cast<double>(values[i]) / divisor);
      } else {
        values[i] /= static_cast<T>(divisor);
      }
    }
  }
};

using ScaleKernel = void(std::byte*, std::size_t, double);

template <template <class> class Body>
struct Scale {
  template <class T>
  struct PerType {
    static constexpr PerLevel<ScaleKernel> value = compiled<Body<T>, std::byte*, std::size_t, double>;
  };
};

constexpr auto kMultiply = per_dtype<Scale<Multiply>::PerType>();
constexpr auto kDivide = per_dtype<Scale<Divide>::PerType>();

// n, when `factor` is what 1.0 / n gives.
std::optional<double> whole_divisor(double factor) {
  const double divisor = std::round(1.0 / factor);
  if (!(divisor >= 2 && divisor <= 0x1p31) || 1.0 / divisor != factor) return std::nullopt;
  return divisor;
}

// Block by block through f32, which rounds once.
void scale_halves(DType dtype, std::byte* data, std::size_t count, double factor, Level level) {
  constexpr std::size_t kBlock = values_in_block(DType::F32);
  alignas(64) std::byte block[kBlockBytes];
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t now = std::min(kBlock, count - done);
    std::byte* const piece = data + done * size_of(dtype);
    convert(DType::F32, block, dtype, piece, now, level);
    scale(DType::F32, block, now, factor, level);
    convert(dtype, piece, DType::F32, block, now, level);
  }
}

}  // namespace

void convert(DType to, std::byte* out, DType from, const std::byte* in, std::size_t count, Level level) {
  if (!is_floating_point(to) || !is_floating_point(from))
    throw Error(Error::Kind::Bug, fmt::format("there is no conversion from {} to {}", name(from), name(to)));
  if (count == 0) return;
  if (to == from) {
    std::memcpy(out, in, count * size_of(to));
    return;
  }
  constexpr std::size_t kFirst = index(DType::F16);
  at(kConverts[index(to) - kFirst][index(from) - kFirst], level)(out, in, count);
}

void scale(DType dtype, std::byte* data, std::size_t count, double factor, Level level) {
  if (factor == 1.0 || dtype == DType::Bool) return;
  if (is_half(dtype)) return scale_halves(dtype, data, count, factor, level);
  const std::optional<double> divisor = is_floating_point(dtype) ? std::nullopt : whole_divisor(factor);
  if (divisor) return at(kDivide[index(dtype)], level)(data, count, *divisor);
  at(kMultiply[index(dtype)], level)(data, count, factor);
}

}  // namespace ronde::comm::math
