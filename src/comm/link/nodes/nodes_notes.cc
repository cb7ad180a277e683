#include "ronde/comm/link/nodes/nodes_notes.h"

#include <algorithm>

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
    put<std::uint64_t>(bytes, text.size());
    bytes += text;
  }
  return bytes;
}

std::vector<std::string> unpack_texts(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    const std::uint64_t length = take<std::uint64_t>(bytes, kWhat);
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(std::min<std::size_t>(length, bytes.size()));
  }
  return texts;
}

std::string write_note(const GroupNote& note) {
  std::string bytes(1, note.kind);
  put(bytes, note.channel);
  put(bytes, note.number);
  return bytes.append(note.rest);
}

std::optional<GroupNote> read_note(std::string_view bytes) {
  if (bytes.size() < kHead) return {};
  GroupNote note{.kind = take<char>(bytes, kWhat)};
  note.channel = take<std::uint64_t>(bytes, kWhat);
  note.number = take<std::uint64_t>(bytes, kWhat);
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
