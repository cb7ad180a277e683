#include "ronde/report/text/text_parts.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::report::detail {

const Json& at(const Json& in, std::string_view key) {
  static const Json none;
  if (!in.is_object()) return none;
  const auto found = in.find(std::string(key));
  return found == in.end() ? none : *found;
}

std::string text_at(const Json& in, std::string_view key) {
  const Json& value = at(in, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : "";
}

std::optional<double> number_at(const Json& in, std::string_view key) {
  const Json& value = at(in, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return {};
  return value.get<double>();
}

double number_or_zero(const Json& in, std::string_view key) {
  return number_at(in, key).value_or(0);
}

bool true_at(const Json& in, std::string_view key) {
  const Json& value = at(in, key);
  return value.is_boolean() && value.get<bool>();
}

std::vector<Json> objects_at(const Json& in, std::string_view key) {
  std::vector<Json> out;
  const Json& list = at(in, key);
  if (!list.is_array()) return out;
  std::ranges::copy_if(list, std::back_inserter(out), [](const Json& item) { return item.is_object(); });
  return out;
}

std::string percent(std::optional<double> share, int decimals) {
  return share ? fmt::format("{:.{}f} %", 100 * *share, decimals) : kUnknown;
}

std::string duration(std::optional<double> seconds) {
  constexpr double kMost = 9e9;  // more nanoseconds than a number holds: 285 years
  if (!seconds || std::abs(*seconds) > kMost) return kUnknown;
  if (*seconds == 0) return "0 s";
  return format_duration(std::chrono::nanoseconds(std::llround(*seconds * 1e9)));
}

std::string speed(std::optional<double> samples_per_second) {
  return samples_per_second ? fmt::format("{:.{}f} samples/s", *samples_per_second, *samples_per_second < 100 ? 1 : 0)
                            : kUnknown;
}

std::string bandwidth(std::optional<double> gb_s) {
  return gb_s ? fmt::format("{:.3g} GB/s", *gb_s) : kUnknown;
}

std::string whole(std::optional<double> number) {
  return number ? fmt::format("{:.0f}", *number) : kUnknown;
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

std::string sentence(const Json& in, std::string_view key, std::string_view first) {
  const std::string text = text_at(in, key);
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
