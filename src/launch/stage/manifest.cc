#include "ronde/launch/stage/manifest.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"

namespace ronde::launch::detail {
namespace {

constexpr std::string_view kHead = "ronde stage 1", kEnd = "end";
constexpr char kStop = '\0';  // the one sign that no path holds

// "f 12 1700000000000000000 420 path"
std::optional<Entry> decode_entry(std::string_view record) {
  const auto words = split(record, ' ');
  constexpr std::size_t kNumbers = 4;
  if (words.size() <= kNumbers || words[0].size() != 1) return {};
  const auto bytes = parse_number<std::uint64_t>(words[1]);
  const auto changed = parse_number<std::int64_t>(words[2]);
  const auto mode = parse_number<unsigned>(words[3]);
  const char kind = words[0].front();
  if (!bytes || !changed || !mode || std::string_view("fdl").find(kind) == std::string_view::npos) return {};
  std::size_t start = 0;
  for (std::size_t i = 0; i < kNumbers; ++i) start += words[i].size() + 1;
  return Entry{.path = std::string(record.substr(start)),
               .kind = static_cast<Entry::Kind>(kind),
               .bytes = *bytes,
               .changed = *changed,
               .mode = *mode};
}

bool same_content(const Entry& a, const Entry& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.changed == b.changed;
}

const Entry* find(const Entries& sorted, const std::string& path) {
  const auto found = std::ranges::lower_bound(sorted, path, {}, &Entry::path);
  return found != sorted.end() && found->path == path ? &*found : nullptr;
}

}  // namespace

std::string Manifest::encode() const {
  std::string text;
  const auto add = [&text](std::string_view record) { (text += record) += kStop; };
  add(kHead);
  add(source);
  add(std::to_string(source_print));
  for (const Entry& entry : entries)
    add(fmt::format("{} {} {} {} {}", static_cast<char>(entry.kind), entry.bytes, entry.changed, entry.mode,
                    entry.path));
  add(kEnd);
  return text;
}

std::optional<Manifest> Manifest::decode(std::string_view text) {
  auto records = split(text, kStop);
  constexpr std::size_t kFixed = 5;  // head, source, number, end, and what follows the last stop
  if (records.size() < kFixed || records[0] != kHead || !records.back().empty()) return {};
  records.pop_back();
  if (records.back() != kEnd) return {};
  const auto print = parse_number<std::uint64_t>(records[2]);
  if (!print) return {};
  Manifest manifest{.source = std::string(records[1]), .source_print = *print};
  for (std::size_t i = 3; i + 1 < records.size(); ++i) {
    auto entry = decode_entry(records[i]);
    if (!entry) return {};
    manifest.entries.push_back(std::move(*entry));
  }
  return manifest;
}

bool holds(const Entries& here, const Manifest& manifest) {
  return std::ranges::all_of(manifest.entries, [&](const Entry& entry) {
    const Entry* found = find(here, entry.path);
    return found && same_content(*found, entry);
  });
}

std::vector<std::string> foreign_to(const Manifest& manifest, const Entries& here) {
  std::vector<std::string> foreign;
  for (const Entry& entry : here)
    if (!find(manifest.entries, entry.path)) foreign.push_back(entry.path);
  return foreign;
}

}  // namespace ronde::launch::detail
