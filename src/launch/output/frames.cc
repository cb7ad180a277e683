#include "ronde/launch/output/frames.h"

#include <algorithm>
#include <array>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"

namespace ronde::launch::detail {
namespace {

constexpr char kMark = '\x1e';  // ASCII's record separator
constexpr char kEnd = 'x';

// A letter says which stream a piece belongs to and what came after it.
struct Letter {
  char letter;
  RankStream stream;
  std::string_view after;
};
constexpr auto kLetters = std::to_array<Letter>({
    {'o', RankStream::Out, "\n"},
    {'p', RankStream::Out, "\r"},
    {'q', RankStream::Out, ""},
    {'e', RankStream::Err, "\n"},
    {'f', RankStream::Err, "\r"},
    {'g', RankStream::Err, ""},
});

char letter_for(RankStream stream, std::string_view after) {
  return std::ranges::find_if(kLetters, [&](const Letter& l) { return l.stream == stream && l.after == after; })
      ->letter;
}

}  // namespace

void add_frames(int rank, RankStream stream, std::string_view bytes, std::string& to) {
  constexpr std::size_t kHead = 24;  // mark, letter, rank, colon; and the newline
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, std::min(bytes.find_first_of("\r\n"), kLongestFrame - kHead));
    bytes.remove_prefix(piece.size());
    std::string_view after;
    if (!bytes.empty() && (bytes.front() == '\n' || bytes.front() == '\r')) after = bytes.substr(0, 1);
    bytes.remove_prefix(after.size());
    to += fmt::format("{}{}{}:", kMark, letter_for(stream, after), rank);
    to += piece;
    to += '\n';
  }
}

std::string end_frame(const RankEnd& end) {
  return fmt::format("{}{}{}:{} {} {} {}\n", kMark, kEnd, end.rank, end.outcome.code, end.outcome.signal,
                     end.stopped ? 1 : 0, end.host);
}

void FrameReader::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    line_ += bytes.substr(0, newline);
    if (newline == std::string_view::npos) return;
    take_line(line_);
    line_.clear();
    bytes.remove_prefix(newline + 1);
  }
}

void FrameReader::finish() {
  if (!line_.empty()) take_line(line_);
  line_.clear();
}

// What stands in front of a frame are words that the launcher has not ended with a newline.
void FrameReader::take_line(std::string_view line) {
  const auto mark = line.find(kMark);
  if (mark == std::string_view::npos) return takers_.words(line);
  if (mark > 0) takers_.words(line.substr(0, mark));
  if (!take_frame(line.substr(mark + 1))) takers_.words(line.substr(mark + 1));
}

bool FrameReader::take_frame(std::string_view frame) {
  const auto colon = frame.find(':');
  if (frame.empty() || colon == std::string_view::npos) return false;
  const auto rank = parse_number<int>(frame.substr(1, colon - 1));
  const auto rest = frame.substr(colon + 1);
  if (!rank || *rank < 0) return false;
  if (frame.front() == kEnd) {
    const auto words = split(rest, ' ');
    if (words.size() != 4) return false;
    const auto code = parse_number<int>(words[0]), signal = parse_number<int>(words[1]);
    if (!code || !signal) return false;
    takers_.end({*rank, {.code = *code, .signal = *signal}, words[2] == "1", std::string(words[3])});
    return true;
  }
  const auto letter = std::ranges::find(kLetters, frame.front(), &Letter::letter);
  if (letter == kLetters.end()) return false;
  takers_.bytes(*rank, letter->stream, rest);
  if (!letter->after.empty()) takers_.bytes(*rank, letter->stream, letter->after);
  return true;
}

}  // namespace ronde::launch::detail
