#include "ronde/report/text/text_parts.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::report::detail {

namespace {

bool is_number(std::optional<double> value) {
  return value && std::isfinite(*value);
}

}  // namespace

std::string percent(std::optional<double> share, int decimals) {
  return is_number(share) ? fmt::format("{:.{}f} %", 100 * *share, decimals) : kUnknown;
}

std::string duration(std::optional<double> seconds) {
  constexpr double kMost = 9e9;  // more nanoseconds than a number holds: 285 years
  if (!is_number(seconds) || std::abs(*seconds) > kMost) return kUnknown;
  if (*seconds == 0) return "0 s";
  return format_duration(std::chrono::nanoseconds(std::llround(*seconds * 1e9)));
}

std::string speed(std::optional<double> samples_per_second) {
  if (!is_number(samples_per_second)) return kUnknown;
  return fmt::format("{:.{}f} samples/s", *samples_per_second, *samples_per_second < 100 ? 1 : 0);
}

std::string bandwidth(std::optional<double> gb_s) {
  return is_number(gb_s) ? fmt::format("{:.3g} GB/s", *gb_s) : kUnknown;
}

std::string whole(std::optional<double> number) {
  return is_number(number) ? fmt::format("{:.0f}", *number) : kUnknown;
}

std::optional<double> known(double rate) {
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

std::string bar(double share, std::size_t width) {
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<double>(i) + 0.5 <= filled ? "█" : "░";
  return out;
}

std::string wrapped(std::string_view text, std::string_view first) {
  const std::string indent(display_width(std::string(first)), ' ');
  std::string out, line(first);
  bool empty = true;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!empty && display_width(line) + 1 + display_width(std::string(word)) > kColumns) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + "\n";
}

std::string title(const Paint& paint, std::string_view text) {
  return "\n" + paint.bold(text) + "\n";
}

std::string sentence(std::string_view text, std::string_view first) {
  return text.empty() ? "" : wrapped(text, first);
}

std::string shortened(const std::string& text, std::size_t columns) {
  if (display_width(text) <= columns) return text;
  std::string out;
  std::size_t taken = 0;
  for (const char byte : text) {
    if ((static_cast<unsigned char>(byte) & 0xC0) != 0x80 && ++taken >= columns) break;
    out += byte;
  }
  return out + "…";
}

}  // namespace ronde::report::detail
