#include "ronde/comm/link/nodes/nodes_notes.h"

#include <algorithm>
#include <utility>

#include "ronde/base/text/text.h"
#include "ronde/comm/support/bytes.h"

namespace ronde::comm::detail {
namespace {

constexpr std::string_view kWhat = "a note between nodes";
constexpr std::size_t kHead = sizeof(char) + 2 * sizeof(std::uint64_t);

}  // namespace

std::string pack_texts(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    support::put<std::uint64_t>(bytes, text.size());
    bytes += text;
  }
  return bytes;
}

std::vector<std::string> unpack_texts(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    const std::uint64_t length = support::take<std::uint64_t>(bytes, kWhat);
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(std::min<std::size_t>(length, bytes.size()));
  }
  return texts;
}

void TextRuns::add(std::string text, std::uint64_t times) {
  if (times == 0) return;
  texts_ += times;
  if (!runs_.empty() && runs_.back().text == text) {
    runs_.back().times += times;
  } else {
    runs_.push_back({times, std::move(text)});
  }
}

void TextRuns::add(const TextRuns& more) {
  for (const Run& run : more.runs_) add(run.text, run.times);
}

std::vector<std::string> TextRuns::all() const {
  std::vector<std::string> texts;
  texts.reserve(texts_);
  for (const Run& run : runs_) texts.insert(texts.end(), run.times, run.text);
  return texts;
}

std::string TextRuns::write() const {
  std::string bytes;
  for (const Run& run : runs_) {
    support::put<std::uint64_t>(bytes, run.times);
    support::put<std::uint64_t>(bytes, run.text.size());
    bytes += run.text;
  }
  return bytes;
}

TextRuns TextRuns::read(std::string_view bytes, std::uint64_t most) {
  TextRuns runs;
  try {
    while (!bytes.empty()) {
      const std::uint64_t times = support::take<std::uint64_t>(bytes, kWhat),
                          length = support::take<std::uint64_t>(bytes, kWhat);
      if (times > most - runs.texts_) throw Error(Error::Kind::System, "a rank told more texts than there are members");
      runs.add(std::string(support::take(bytes, length, kWhat)), times);
    }
  } catch (const Error& error) {
    throw Error(Error::Kind::System, error.what());
  }
  return runs;
}

std::string write_note(const GroupNote& note) {
  std::string bytes(1, note.kind);
  support::put(bytes, note.channel);
  support::put(bytes, note.number);
  return bytes.append(note.rest);
}

std::optional<GroupNote> read_note(std::string_view bytes) {
  if (bytes.size() < kHead) return {};
  GroupNote note{.kind = support::take<char>(bytes, kWhat)};
  note.channel = support::take<std::uint64_t>(bytes, kWhat);
  note.number = support::take<std::uint64_t>(bytes, kWhat);
  note.rest = bytes;
  return note;
}

std::string write_silent(const std::vector<SilentMember>& silent) {
  std::vector<std::string> texts;
  for (const SilentMember& one : silent) texts.insert(texts.end(), {std::to_string(one.member), one.doing});
  return pack_texts(texts);
}

std::vector<SilentMember> read_silent(std::string_view bytes, int members) {
  const std::vector<std::string> texts = unpack_texts(bytes);
  std::vector<SilentMember> silent;
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
    const int member = parse_number<int>(texts[i]).value_or(-1);
    if (member >= 0 && member < members) silent.push_back({member, texts[i + 1]});
  }
  return silent;
}

}  // namespace ronde::comm::detail
