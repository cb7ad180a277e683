#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ronde::data::files {

// A key of an LMDB file, and where its value lies.
struct LmdbEntry {
  std::string_view key = {};
  std::uint64_t offset = 0, bytes = 0;
};

// Goes through the pages of an LMDB file (data.mdb) and tells its entries in the order of their keys. We read the pages
// ourselves: liblmdb believes what a file says, and dies of one that is cut off or damaged. Every entry that is told
// lies inside the file.
// FAILS WITH: BadInput that names file and byte: no LMDB, cut off, damaged; named databases, several values for a key.
void scan_lmdb(std::string_view file, const std::string& name, const std::function<void(const LmdbEntry&)>& tell);

// How many entries the file says it has. FAILS WITH: as above.
std::uint64_t count_lmdb(std::string_view file, const std::string& name);

}  // namespace ronde::data::files
