#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// LMDB: a folder with data.mdb, or such a file. Samples come in the order of their keys. A value is a tf.train.Example
// (as 'ronde data convert' writes), a Datum of Caffe's, or the bytes of a picture: JPEG, PNG or TIFF; for those the
// class is the part of the key before the first '/', sorted and counted from 0. What Python pickled is refused. Keys
// that begin with "__" are no samples: "__classes__" holds the names of the classes, a line each. Only reads, takes no
// lock and needs no liblmdb; the file must not be written at the same time.
std::unique_ptr<Records> open_lmdb(const RecordsOptions& options);
bool looks_like_lmdb(const std::filesystem::path& path);

constexpr const char* kLmdbClasses = "__classes__";

}  // namespace ronde::data::files
