#include "ronde/base/text/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr auto kByteUnits = std::to_array<Unit>({{"B", 1},
                                                 {"kB", 1e3},
                                                 {"KB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"TB", 1e12},
                                                 {"KiB", 1024.0},
                                                 {"MiB", 1048576.0},
                                                 {"GiB", 1073741824.0},
                                                 {"TiB", 1099511627776.0}});

constexpr auto kTimeUnits = std::to_array<Unit>(
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}});

constexpr double kTooLarge = 9.2e18;  // just under what 63 bits hold

struct Quantity {
  double number;
  std::string_view unit;
};

std::optional<Quantity> read_quantity(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || !std::isfinite(number)) return {};
  return Quantity{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

std::optional<double> factor_of(std::string_view unit, std::span<const Unit> units) {
  for (const Unit& known : units)
    if (known.name == unit) return known.factor;
  return {};
}

// One decimal below 10, none above, and no ".0".
std::string short_number(double number) {
  std::string text = fmt::format("{:.{}f}", number, number < 9.95 ? 1 : 0);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  const auto quantity = read_quantity(text);
  if (!quantity) throw Error::bad_input("'{}' is not a size; write for instance 64MiB", text);
  const auto factor = quantity->unit.empty() ? 1.0 : factor_of(quantity->unit, kByteUnits);
  if (!factor)
    throw Error::bad_input("'{}' is not a size: unknown unit '{}'; use B, KiB, MiB, GiB, TiB or kB, MB, GB, TB", text,
                           quantity->unit);
  const double bytes = quantity->number * *factor;
  if (bytes < 0 || bytes > kTooLarge) throw Error::bad_input("'{}' is not a size between 0 and 8 EiB", text);
  if (bytes != std::floor(bytes)) throw Error::bad_input("'{}' is not a whole number of bytes", text);
  return static_cast<std::uint64_t>(bytes);
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  const auto quantity = read_quantity(text);
  if (!quantity) throw Error::bad_input("'{}' is not a time; write for instance 30s or 2ms", text);
  if (quantity->unit.empty() && quantity->number != 0)
    throw Error::bad_input("'{}' is a time without a unit; write {}s or {}ms", text, trim(text), trim(text));
  const auto factor = quantity->unit.empty() ? 1.0 : factor_of(quantity->unit, kTimeUnits);
  if (!factor)
    throw Error::bad_input("'{}' is not a time: unknown unit '{}'; use ns, us, ms, s, min, h or d", text,
                           quantity->unit);
  const double ns = quantity->number * *factor;
  if (ns < 0 || ns > kTooLarge) throw Error::bad_input("'{}' is not a time between 0 and 292 years", text);
  return std::chrono::nanoseconds(std::llround(ns));
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr auto kNames = std::to_array<std::string_view>({"B", "KiB", "MiB", "GiB", "TiB"});
  double number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; unit + 1 < kNames.size() && number >= 1023.5; ++unit) number /= 1024;
  return short_number(number) + " " + std::string(kNames[unit]);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const double ns = static_cast<double>(duration.count());
  if (ns < 0) return "-" + format_duration(-duration);
  if (ns < 999.5) return short_number(ns) + " ns";
  if (ns < 999.5e3) return short_number(ns / 1e3) + " us";
  if (ns < 999.5e6) return short_number(ns / 1e6) + " ms";
  const auto seconds = std::llround(ns / 1e9);
  if (seconds < 60) return short_number(ns / 1e9) + " s";
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  const auto minutes = (seconds + 30) / 60;
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace ronde
