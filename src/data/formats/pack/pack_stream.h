#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace ronde::data::files {

// A record that passes by: its bytes as pack_format.h describes them, and its key. Gone when the function returns.
struct PassingRecord {
  std::int64_t index = 0;  // in the pack
  std::string_view bytes, key;
};

struct StreamOptions {
  int readers = 0;  // threads that read; 0: as suits the cores of this machine
};

// All records of a pack, or of one shard, from front to back, each checked: as fast as the disk gives them, with memory
// for a few of them only. What `see` throws ends it.
//
//   const auto records = stream_pack("train", [&](const PassingRecord& record) { sum += record.bytes.size(); });
//
// Returns how many there were. FAILS WITH: BadInput that names shard and byte; System.
std::int64_t stream_pack(const std::filesystem::path& path, const std::function<void(const PassingRecord&)>& see,
                         const StreamOptions& options = {});

}  // namespace ronde::data::files
