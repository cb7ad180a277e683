#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// The binary files of CIFAR-10 (data_batch_1.bin to 5, test_batch.bin) and CIFAR-100 (train.bin, test.bin: the fine
// labels): a file, or a folder, of which those for training are taken. Names of classes come from batches.meta.txt,
// fine_label_names.txt or classes.txt beside them.
std::unique_ptr<Records> open_cifar(const RecordsOptions& options);
bool looks_like_cifar(const std::filesystem::path& path);

}  // namespace ronde::data::files
