#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/system/file_descriptor.h"
#include "ronde/data/records.h"

namespace ronde::data::files {

// TFRecord files of tf.train.Example: a file, a folder of *.tfrecord, *.tfrecords, *.tfrec or NAME-00000-of-01024, or a
// pattern (see shards.h). Where records begin is found by one scan of their lengths, and kept (kept_index.h). Names of
// classes come from classes.txt (naming.h).
std::unique_ptr<Records> open_tfrecord(const RecordsOptions& options);
bool looks_like_tfrecord(const std::filesystem::path& path);

// Where the records of one file begin, and where the last one ends.
// FAILS WITH: BadInput that names file and offset: a length whose checksum does not fit, a file that is cut off;
// System.
std::vector<std::uint64_t> scan_tfrecord(const FileDescriptor& file, const std::string& name);

}  // namespace ronde::data::files
