#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ronde/base/system/file_descriptor.h"
#include "ronde/data/formats/pack/pack_format.h"
#include "ronde/data/formats/pack/pack_manifest.h"

namespace ronde::data::files {

// Writes one shard of a pack, from front to back. It has its name only when it is whole. Not thread-safe.
class PackShardWriter {
 public:
  // FAILS WITH: System.
  explicit PackShardWriter(const std::filesystem::path& path);
  ~PackShardWriter();  // what was not finished goes
  PackShardWriter(const PackShardWriter&) = delete;
  PackShardWriter& operator=(const PackShardWriter&) = delete;

  // FAILS WITH: System; a full disk says so.
  void add(const PackRecord& record);
  // Closes it and sees it to the disk. FAILS WITH: System.
  PackShardFacts finish();

  std::uint64_t bytes() const { return bytes_; }  // so far, without an index
  std::int64_t records() const { return index_.records(); }

 private:
  void put(std::string_view bytes);
  void flush();

  const std::filesystem::path path_, partial_;
  FileDescriptor file_;
  PackIndexMaker index_;
  std::string waiting_;  // not written yet
  std::uint64_t bytes_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace ronde::data::files
