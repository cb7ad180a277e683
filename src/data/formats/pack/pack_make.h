#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ronde/data/formats/pack/pack_manifest.h"
#include "ronde/data/records.h"

namespace ronde::data::files {

struct PackOptions {
  std::filesystem::path folder = {};                     // for the pack
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;  // a new shard begins before it would be longer
  std::optional<std::uint64_t> shuffle_seed = {};        // store in this random order rather than that of the source
  int short_side = 0;          // pictures are stored again with so short a side; 0: as they are
  int quality = 90;            // of those pictures, 1 to 100
  bool stop_on_error = false;  // data.on_error = stop; otherwise what is bad is left out
  int threads = 0;             // that read and prepare; 0: one a core
  bool overwrite = false;      // what was begun of another pack goes
  Progress progress = {};      // in samples
};

struct Packed {
  PackManifest manifest;
  std::int64_t went_on_at = 0;  // samples that were packed by an earlier call
  bool was_there = false;       // all of it was
};

// Makes a pack of any records. What was finished of it by a call that was interrupted, even killed, is kept: the same
// call again goes on behind the last whole shard, and makes the same bytes as one that was not interrupted. Samples
// that are bad input, pictures whose header cannot be read or that cannot be stored again, are left out and listed in
// the manifest, unless stop_on_error says otherwise; a disk that fails is not the samples' fault, and stops it. The
// number of threads changes nothing in the bytes.
// FAILS WITH: BadInput: options that cannot be, a folder that holds another pack or one begun otherwise, no sample that
// can be read; System: a disk that is full, or cannot be read; what a sample fails with, if that is to stop it.
Packed make_pack(const Records& records, const PackOptions& options);

}  // namespace ronde::data::files
