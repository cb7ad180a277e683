#pragma once

#include <optional>
#include <string>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/output/progress.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/stage/manifest.h"
#include "ronde/launch/stage/stage_names.h"
#include "ronde/launch/stage/tree_list.h"

namespace ronde::launch::detail {

// One --stage: what is to be brought to this node, and where it shall lie. Beside its place lie, hidden, a lock, so
// that several jobs or ranks bring it once, a manifest, and, while it is on its way, what has come so far.
struct StageItem {
  std::filesystem::path source;
  NamedPath place;
  std::string variable = {};  // that ranks find it by
  Entries listing = {};       // of the source
  std::optional<Unpacker> unpacker = {};

  std::uint64_t bytes_needed() const;
};

// What the manifest beside `place` says, if there is one.
std::optional<Manifest> read_manifest(const std::filesystem::path& place);

// Whether `place` holds what the source is now.
bool is_up_to_date(const StageItem& item, const std::atomic<bool>& stop);

// Brings it, unless it is there; what is there of an older source is replaced. Returns what to tell the user; nothing
// when it was stopped. When it fails or is stopped nothing is left of it.
// FAILS WITH: BadInput when `place` holds what was not staged; System.
std::string bring(const StageItem& item, const Environment& environment, int threads, const Signals& signals,
                  Progress& progress);

}  // namespace ronde::launch::detail
