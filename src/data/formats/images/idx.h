#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// IDX files as MNIST has them, plain or .gz: the file of the pictures (NAME-images-idx3-ubyte), beside which the labels
// are (NAME-labels-idx1-ubyte); or a folder: its only pictures, or those whose name begins with "train".
// Names of classes come from classes.txt in the folder.
std::unique_ptr<Records> open_idx(const RecordsOptions& options);
bool looks_like_idx(const std::filesystem::path& path);

}  // namespace ronde::data::files
