#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The content of a folder as a list.
namespace ronde::launch::detail {

struct Entry {
  enum class Kind : char { File = 'f', Folder = 'd', Link = 'l' };
  std::string path;  // below the folder; empty: a file that stands for itself
  Kind kind = Kind::File;
  std::uint64_t bytes = 0;   // of a file
  std::int64_t changed = 0;  // nanoseconds, of a file
  unsigned mode = 0644;
  friend bool operator==(const Entry&, const Entry&) = default;
};
using Entries = std::vector<Entry>;

// All of a tree, sorted by path, folders before what is in them; links are not followed, but `root` may be one. Several
// threads look, because on a file system of a cluster each look takes its time. Ends early when `stop` is set.
// FAILS WITH: System, naming what cannot be read; BadInput for what is neither file nor folder nor link.
Entries list_tree(const std::filesystem::path& root, int threads, const std::atomic<bool>& stop);

std::uint64_t total_bytes(const Entries& entries);
std::size_t count_files(const Entries& entries);
// Space that it takes on a disk, which gives whole blocks.
std::uint64_t bytes_on_disk(const Entries& entries);

// One number for a list: another one when a name, a size or a time differs. Pure.
std::uint64_t fingerprint(const Entries& entries);

}  // namespace ronde::launch::detail
