#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// Looks at folders. For images_index.cc.
namespace ronde::data::files {

// The folders in a folder, sorted; without those that begin with a dot. FAILS WITH: BadInput, System.
std::vector<std::string> list_class_folders(const std::filesystem::path& folder);

// Nothing when there is no such folder.
std::optional<std::int64_t> folder_changed_ns(const std::filesystem::path& folder);

}  // namespace ronde::data::files
