#include "ronde/data/formats/tar/tar_index.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/tar/tar_format.h"

namespace ronde::data::files {
namespace {

constexpr IndexKind kKind{.kind = 2, .version = 1};
constexpr std::int64_t kTellEvery = 1000;  // files

struct SplitName {
  std::string key, ending;
};

// An empty ending: no part of any sample.
SplitName split_name(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  const auto slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const auto dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return {};
  std::string ending(name.substr(dot + 1));
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return {std::string(name.substr(0, dot)), std::move(ending)};
}

}  // namespace

TarSamples index_tar(std::string_view tar, const std::string& name, const Progress& progress) {
  TarSamples found;
  std::map<std::string, std::uint32_t> endings;
  TarWalk walk(tar, name);
  for (std::int64_t files = 1; auto member = walk.next(); ++files) {
    if (progress && files % kTellEvery == 0)
      progress(static_cast<std::int64_t>(walk.offset()), static_cast<std::int64_t>(tar.size()));
    auto [key, ending] = split_name(member->name);
    if (ending.empty()) continue;
    const auto number = endings.emplace(ending, static_cast<std::uint32_t>(endings.size())).first->second;
    if (number == found.endings.size()) found.endings.push_back(ending);
    if (found.samples.empty() || found.samples.back().key != key) found.samples.push_back({std::move(key), {}});
    auto& members = found.samples.back().members;
    if (std::ranges::find(members, number, &TarSamples::Member::ending) != members.end())
      throw Error::bad_input("{}: byte {}: '{}' occurs twice in one sample", name, member->header, member->name);
    members.push_back({member->offset, member->size, number});
  }
  return found;
}

// Texts: the endings, then the keys.
std::string to_index(const TarSamples& samples, const detail::FileFacts& facts) {
  Column member_ends, offsets, sizes, endings;
  std::vector<std::string> texts = samples.endings;
  for (const TarSamples::One& one : samples.samples) {
    texts.push_back(one.key);
    for (const TarSamples::Member& member : one.members) {
      offsets.push_back(member.offset);
      sizes.push_back(member.size);
      endings.push_back(member.ending);
    }
    member_ends.push_back(offsets.size());
  }
  const std::vector<Column> columns{std::move(member_ends),
                                    std::move(offsets),
                                    std::move(sizes),
                                    std::move(endings),
                                    {facts.bytes, static_cast<std::uint64_t>(facts.changed_ns)}};
  return make_index(kKind, columns, texts);
}

TarIndex::TarIndex(std::string_view bytes, const std::string& name) : view_(bytes, kKind, kColumns, name) {
  const auto damaged = [&](const char* how) { return Error::bad_input("the index {} is damaged: {}", name, how); };
  const std::size_t samples = view_.length(kMemberEnds), members = view_.length(kOffsets);
  if (view_.length(kSizes) != members || view_.length(kEndings) != members || view_.length(kFacts) != 2 ||
      view_.texts() < samples)
    throw damaged("its columns do not match");
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uint64_t next = view_.number(kMemberEnds, i);
    if (next <= end || next > members) throw damaged("its samples overlap");
    end = next;
  }
  if (end != members) throw damaged("some files have no sample");
  const std::uint64_t whole = view_.number(kFacts, 0), endings = view_.texts() - samples;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < members; ++i) {
    const std::uint64_t offset = view_.number(kOffsets, i), size = view_.number(kSizes, i);
    if (offset < before || offset > whole || size > whole - offset) throw damaged("a file lies outside of the tar");
    if (view_.number(kEndings, i) >= endings) throw damaged("a file has no name extension");
    before = offset + size;
  }
}

std::string_view TarIndex::key(std::int64_t sample) const {
  return view_.text(view_.texts() - static_cast<std::size_t>(size() - sample));
}

std::size_t TarIndex::first_member(std::int64_t sample) const {
  return sample == 0 ? 0 : end_member(sample - 1);
}

std::size_t TarIndex::end_member(std::int64_t sample) const {
  return view_.number(kMemberEnds, static_cast<std::size_t>(sample));
}

TarIndex::Span TarIndex::member(std::size_t member) const {
  const std::uint64_t offset = view_.number(kOffsets, member);
  return {offset, offset + view_.number(kSizes, member)};
}

std::string_view TarIndex::ending(std::size_t member) const {
  return view_.text(view_.number(kEndings, member));
}

TarIndex::Span TarIndex::span(std::int64_t sample) const {
  return {member(first_member(sample)).begin, member(end_member(sample) - 1).end};
}

bool TarIndex::is_of(const detail::FileFacts& facts) const {
  return view_.number(kFacts, 0) == facts.bytes &&
         static_cast<std::int64_t>(view_.number(kFacts, 1)) == facts.changed_ns;
}

}  // namespace ronde::data::files
