#include "ronde/data/formats/proto/lmdb_pages.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/data/io/bytes.h"

namespace ronde::data::files {
namespace {

using detail::number_at;

// A page begins with its number (u64), 2 bytes of nothing, flags (u16), and where its free room begins and ends (u16
// each; for values that have pages of their own: how many pages, u32). Then come the places of its nodes (u16 each).
// Pages 0 and 1 describe the file; of these the one counts that was written last.
constexpr std::size_t kPageHeader = 16, kNodeHeader = 8, kMostDepth = 32;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
enum PageFlags : std::uint16_t { kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8 };
enum NodeFlags : std::uint16_t { kBigValue = 1, kDatabase = 2, kSeveral = 4 };

struct Meta {
  std::uint64_t page_size = 0, entries = 0, root = kNoPage, last_page = 0, version = 0;
};

Meta parse_meta(std::string_view file, std::size_t at, const std::string& name) {
  constexpr std::size_t kSize = 136;
  constexpr std::uint32_t kMagic = 0xbeefc0de, kVersion = 1;
  if (file.size() < at + kPageHeader + kSize)
    throw Error::bad_input("{}: the file ends at byte {}, inside the meta page at byte {}", name, file.size(), at);
  const std::string_view meta = file.substr(at + kPageHeader, kSize);
  if (number_at<std::uint32_t>(meta, 0) != kMagic || (number_at<std::uint16_t>(file, at + 10) & kMeta) == 0)
    throw Error::bad_input("{}: byte {}: not an LMDB file (of a 64-bit machine)", name, at + kPageHeader);
  if (const auto version = number_at<std::uint32_t>(meta, 4); version != kVersion)
    throw Error::bad_input("{}: LMDB version {} is not supported, only version {}", name, version, kVersion);
  // After magic, version, address and size come two descriptions of 48 bytes: of free pages, and of the database.
  const Meta found{.page_size = number_at<std::uint32_t>(meta, 24),
                   .entries = number_at<std::uint64_t>(meta, 72 + 32),
                   .root = number_at<std::uint64_t>(meta, 72 + 40),
                   .last_page = number_at<std::uint64_t>(meta, 120),
                   .version = number_at<std::uint64_t>(meta, 128)};
  if (found.page_size < 256 || found.page_size > 65536 || (found.page_size & (found.page_size - 1)) != 0)
    throw Error::bad_input("{}: byte {}: invalid page size of {} bytes", name, at + kPageHeader + 24, found.page_size);
  return found;
}

Meta newest_meta(std::string_view file, const std::string& name) {
  const Meta first = parse_meta(file, 0, name);
  const Meta second = parse_meta(file, first.page_size, name);
  if (second.page_size != first.page_size)
    throw Error::bad_input("{}: the two meta pages disagree: page sizes of {} and {} bytes", name, first.page_size,
                           second.page_size);
  return second.version > first.version ? second : first;
}

class Scan {
 public:
  Scan(std::string_view file, const std::string& name, const std::function<void(const LmdbEntry&)>& tell)
      : file_(file), name_(name), tell_(tell), meta_(newest_meta(file, name)) {}

  void run() {
    if (meta_.root != kNoPage) visit(meta_.root, 0);
    if (told_ != meta_.entries)
      throw Error::bad_input("{}: the file announces {} entries, but has {}", name_, meta_.entries, told_);
  }

 private:
  template <class... Args>
  Error wrong(std::uint64_t page, fmt::format_string<Args...> format, Args&&... args) const {
    return Error::bad_input("{}: page {} (byte {}): {}", name_, page, page * meta_.page_size,
                            fmt::format(format, std::forward<Args>(args)...));
  }

  // REQUIRES: nothing: the number may come from the file.
  std::string_view page_at(std::uint64_t number, std::uint16_t kinds) {
    const std::uint64_t pages = file_.size() / meta_.page_size;
    if (number >= pages)
      throw Error::bad_input("{}: the file ends at byte {}, before page {} of {}", name_, file_.size(), number,
                             meta_.last_page + 1);
    const std::string_view page = file_.substr(number * meta_.page_size, meta_.page_size);
    if (number_at<std::uint64_t>(page, 0) != number)
      throw wrong(number, "damaged: it has the number of page {}", number_at<std::uint64_t>(page, 0));
    const auto flags = number_at<std::uint16_t>(page, 10);
    if ((flags & 0xf) == 0 || (flags & 0xf & ~kinds) != 0)
      throw wrong(number, "damaged: unexpected page flags {}", flags);
    // In a tree no page comes twice; where pages lead in a circle, more would come than there are.
    if (++visited_ > pages) throw wrong(number, "damaged: the pages form a loop");
    return page;
  }

  void visit(std::uint64_t number, std::size_t depth) {
    if (depth > kMostDepth) throw wrong(number, "damaged: the tree is too deep");
    const std::string_view page = page_at(number, kBranch | kLeaf);
    const bool leaf = (number_at<std::uint16_t>(page, 10) & kLeaf) != 0;
    const std::size_t end = number_at<std::uint16_t>(page, 12);
    if (end < kPageHeader || end > page.size()) throw wrong(number, "damaged: node list of {} bytes", end);
    for (std::size_t at = kPageHeader; at + 2 <= end; at += 2) {
      const std::size_t node = number_at<std::uint16_t>(page, at);
      if (node < end || node + kNodeHeader > page.size()) throw wrong(number, "damaged: node at byte {}", node);
      const auto low = number_at<std::uint16_t>(page, node), high = number_at<std::uint16_t>(page, node + 2);
      const auto flags = number_at<std::uint16_t>(page, node + 4), key = number_at<std::uint16_t>(page, node + 6);
      if (node + kNodeHeader + key > page.size()) throw wrong(number, "damaged: key of {} bytes", key);
      const std::uint64_t small = low | std::uint64_t{high} << 16;
      if (leaf)
        entry(number, node, page.substr(node + kNodeHeader, key), flags, small);
      else
        visit(small | std::uint64_t{flags} << 32, depth + 1);  // a branch has no flags, and uses their room
    }
  }

  void entry(std::uint64_t number, std::size_t node, std::string_view key, std::uint16_t flags, std::uint64_t bytes) {
    if ((flags & kDatabase) != 0)
      throw Error::bad_input("{}: '{}' is a named database; only the main database can be read", name_,
                             key.substr(0, 60));
    if ((flags & kSeveral) != 0)
      throw Error::bad_input("{}: key '{}' has several values; each sample must have one", name_, key.substr(0, 60));
    LmdbEntry one{.key = key, .offset = number * meta_.page_size + node + kNodeHeader + key.size(), .bytes = bytes};
    if ((flags & kBigValue) != 0) {
      if (file_.size() - std::min<std::uint64_t>(file_.size(), one.offset) < 8)
        throw wrong(number, "damaged: a value lies outside of the file");
      one.offset = big_value(number_at<std::uint64_t>(file_, one.offset), key, bytes);
    } else if (node + kNodeHeader + key.size() + bytes > meta_.page_size) {
      throw wrong(number, "damaged: the value of key '{}' has {} bytes", key.substr(0, 60), bytes);
    }
    if (++told_ > meta_.entries)
      throw wrong(number, "damaged: more entries than the {} that the file announces", meta_.entries);
    tell_(one);
  }

  // Where a value begins that has pages of its own.
  std::uint64_t big_value(std::uint64_t number, std::string_view key, std::uint64_t bytes) {
    const std::string_view page = page_at(number, kOverflow);
    const std::uint64_t pages = number_at<std::uint32_t>(page, 12), begin = number * meta_.page_size + kPageHeader;
    if (bytes > pages * meta_.page_size - std::min(pages * meta_.page_size, std::uint64_t{kPageHeader}))
      throw wrong(number, "damaged: {} bytes of key '{}' on {} pages", bytes, key.substr(0, 60), pages);
    if (bytes > file_.size() - begin)
      throw Error::bad_input("{}: the file ends at byte {}, inside the value of key '{}' that begins at byte {}", name_,
                             file_.size(), key.substr(0, 60), begin);
    return begin;
  }

  const std::string_view file_;
  const std::string& name_;
  const std::function<void(const LmdbEntry&)>& tell_;
  const Meta meta_;
  std::uint64_t visited_ = 0, told_ = 0;
};

}  // namespace

void scan_lmdb(std::string_view file, const std::string& name, const std::function<void(const LmdbEntry&)>& tell) {
  Scan(file, name, tell).run();
}

std::uint64_t count_lmdb(std::string_view file, const std::string& name) {
  return newest_meta(file, name).entries;
}

}  // namespace ronde::data::files
