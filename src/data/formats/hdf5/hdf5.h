#pragma once

#include <filesystem>
#include <memory>

#include "ronde/data/records.h"

namespace ronde::data::files {

// HDF5: a dataset an array, in any group, whose first dimension counts the samples of all. Names are those of the file,
// as array_name() in naming.h has it. Integers and floats of all sizes but u64 (u32 becomes i64, f16 f32, bool u8);
// text, opaque and variable-length bytes are u8[n]: an encoded picture. A dataset "classes" of text names the classes.
// What is compressed is read a chunk at a time, of which the last ones are kept (up to 64 MiB).
// One thread of the process is in the library at a time: Debian's may not be built for more.
std::unique_ptr<Records> open_hdf5(const RecordsOptions& options);
bool looks_like_hdf5(const std::filesystem::path& path);

}  // namespace ronde::data::files
