#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// Packs, as `ronde data pack` makes them: the folder, or one .pack file alone. What a sample was made of when it was
// packed, and "key". Every record is checked when it is read. Runs of about 8 MiB are chunks.
// FAILS WITH: BadInput that names file and offset: a shard that is missing or has another size than pack.json says, cut
// off, damaged, of a newer version; a pack that was not finished; System.
std::unique_ptr<Records> open_pack(const RecordsOptions& options);

bool looks_like_pack(const std::filesystem::path& path);

}  // namespace ronde::data::files
