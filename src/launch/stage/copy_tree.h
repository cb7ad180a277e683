#pragma once

#include <filesystem>

#include "ronde/launch/output/progress.h"
#include "ronde/launch/stage/tree_list.h"

namespace ronde::launch::detail {

// Copies what `entries` (of list_tree) names from below `from` to below `to`, by several threads, large files in
// pieces. Times and modes of files stay, links stay links. Folders that are there already are filled up, files
// overwritten. Ends early when progress.stop is set. FAILS WITH: System, naming the file; the first failure counts, and
// ends it.
void copy_tree(const Entries& entries, const std::filesystem::path& from, const std::filesystem::path& to, int threads,
               Progress& progress);

}  // namespace ronde::launch::detail
