#include "ronde/launch/output/lines.h"

#include <algorithm>
#include <array>

#include "ronde/base/text/format.h"

namespace ronde::launch::detail {
namespace {

// Told apart well on dark and on light, neighbours differ: cyan, yellow, magenta, green, blue, and the bright ones.
constexpr std::array kColors{36, 33, 35, 32, 34, 96, 93, 95, 92, 94};

constexpr std::string_view kWipe = "\x1b[K";  // from the cursor to the end of the line

// How many bytes at the start are one escape sequence, such as a colour; 0: none.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const auto is_end = [](char letter) { return letter >= '@' && letter <= '~'; };
  return static_cast<std::size_t>(std::find_if(text.begin() + 2, text.end(), is_end) - text.begin()) +
         (std::any_of(text.begin() + 2, text.end(), is_end) ? 1 : 0);
}

bool continues_a_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;  // of UTF-8
}

}  // namespace

std::string fit(std::string_view line, std::size_t columns) {
  std::string kept;
  bool room = true;
  while (!line.empty()) {
    std::size_t length = escape_length(line);
    const bool escape = length > 0;
    if (!escape) {
      room = columns > 0;
      if (room) --columns;
      length = 1;
      while (length < line.size() && continues_a_character(line[length])) ++length;
    }
    if (escape || room) kept += line.substr(0, length);
    line.remove_prefix(length);
  }
  return kept;
}

int prefix_width(int rank) {
  return static_cast<int>(fmt::formatted_size("[{}] ", rank));
}

void LineSplitter::add(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const auto stop = std::ranges::find_if(bytes, [](char letter) { return letter == '\n' || letter == '\r'; });
    const auto length = std::min(static_cast<std::size_t>(stop - bytes.begin()), kLongestLine - line_.size());
    line_ += bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (bytes.empty()) return;
    const char letter = bytes.front();
    if (letter != '\n' && letter != '\r') {  // too long
      end_line(take);
      continue;
    }
    bytes.remove_prefix(1);
    letter == '\n' ? end_line(take) : end_bar(take);
  }
}

void LineSplitter::finish(const Take& take) {
  if (!line_.empty() || !bar_.empty()) end_line(take);
}

void LineSplitter::end_line(const Take& take) {
  take(line_.empty() ? bar_ : line_, LineEnd::Newline);
  line_.clear();
  bar_.clear();
}

void LineSplitter::end_bar(const Take& take) {
  if (line_.empty()) return;  // many bars begin with \r too
  take(line_, LineEnd::Return);
  bar_.swap(line_);
  line_.clear();
}

void Prefixer::write(int rank, std::string_view line, LineEnd end, std::string& to, std::string_view stamp) {
  const bool bar = end == LineEnd::Return;
  if (bar && !look_.terminal) return;
  if (bar_shown_) to += kWipe;
  bar_shown_ = bar;
  to += stamp;
  if (look_.color)
    to += fmt::format("\x1b[{}m[{}]\x1b[0m ", kColors[static_cast<std::size_t>(rank) % kColors.size()], rank);
  else
    to += fmt::format("[{}] ", rank);
  const int left = look_.columns - prefix_width(rank) - static_cast<int>(stamp.size()) - 1;
  to += bar && look_.columns > 0 ? fit(line, static_cast<std::size_t>(std::max(0, left))) : std::string(line);
  to += bar ? '\r' : '\n';
}

void Tail::add(std::string_view line) {
  if (lines_.size() == kLines) lines_.pop_front();
  lines_.emplace_back(line.substr(0, kLineBytes));
  if (line.size() > kLineBytes) lines_.back() += fmt::format("... ({} bytes)", line.size());
}

}  // namespace ronde::launch::detail
