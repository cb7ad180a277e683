#pragma once

#include <memory>

#include "ronde/data/tools/record_writer.h"

// One function a format. They write at options.path, where nothing is, and leave half of it behind when they fail:
// make_writer() gives them a name of its own and cleans up.
namespace ronde::data::files {

std::unique_ptr<RecordWriter> make_tfrecord_writer(const WriterOptions& options);
std::unique_ptr<RecordWriter> make_lmdb_writer(const WriterOptions& options);
std::unique_ptr<RecordWriter> make_hdf5_writer(const WriterOptions& options);
std::unique_ptr<RecordWriter> make_npy_writer(const WriterOptions& options);
std::unique_ptr<RecordWriter> make_csv_writer(const WriterOptions& options);
std::unique_ptr<RecordWriter> make_images_writer(const WriterOptions& options);
std::unique_ptr<RecordWriter> make_tar_writer(const WriterOptions& options);

}  // namespace ronde::data::files
