#include "ronde/launch/detail/lines.h"

#include <algorithm>
#include <array>

#include "ronde/base/format.h"

namespace ronde::launch::detail {
namespace {

// Told apart well on dark and on light, neighbours differ: cyan, yellow, magenta, green, blue, and the bright ones.
constexpr std::array kColors{36, 33, 35, 32, 34, 96, 93, 95, 92, 94};

constexpr std::string_view kWipe = "\x1b[K";  // from the cursor to the end of the line

}  // namespace

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

void Prefixer::write(int rank, std::string_view line, LineEnd end, std::string& to) {
  if (end == LineEnd::Return && !look_.terminal) return;
  if (bar_shown_) to += kWipe;
  bar_shown_ = end == LineEnd::Return;
  if (look_.color)
    to += fmt::format("\x1b[{}m[{}]\x1b[0m ", kColors[static_cast<std::size_t>(rank) % kColors.size()], rank);
  else
    to += fmt::format("[{}] ", rank);
  to += line;
  to += end == LineEnd::Newline ? '\n' : '\r';
}

void Tail::add(std::string_view line) {
  if (lines_.size() == kLines) lines_.pop_front();
  lines_.emplace_back(line.substr(0, kLineBytes));
  if (line.size() > kLineBytes) lines_.back() += fmt::format("... ({} bytes)", line.size());
}

}  // namespace ronde::launch::detail
