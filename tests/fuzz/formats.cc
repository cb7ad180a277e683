// The formats that the fuzzer reads. It writes no files, and goes without what does.
#include <memory>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {
namespace files {
namespace {

[[noreturn]] std::unique_ptr<RecordWriter> none() {
  throw Error(Error::Kind::Bug, "the fuzzer writes no files");
}

}  // namespace

std::unique_ptr<RecordWriter> make_csv_writer(const WriterOptions& /*options*/) {
  none();
}
std::unique_ptr<RecordWriter> make_images_writer(const WriterOptions& /*options*/) {
  none();
}
std::unique_ptr<RecordWriter> make_lmdb_writer(const WriterOptions& /*options*/) {
  none();
}
std::unique_ptr<RecordWriter> make_npy_writer(const WriterOptions& /*options*/) {
  none();
}
std::unique_ptr<RecordWriter> make_tar_writer(const WriterOptions& /*options*/) {
  none();
}
std::unique_ptr<RecordWriter> make_tfrecord_writer(const WriterOptions& /*options*/) {
  none();
}

}  // namespace files

FormatEntry pack_entry();
FormatEntry tar_entry();
FormatEntry bigearthnet_entry();
FormatEntry tfrecord_entry();
FormatEntry lmdb_entry();
FormatEntry csv_entry();
FormatEntry npy_entry();
FormatEntry idx_entry();
FormatEntry cifar_entry();
FormatEntry images_entry();

std::vector<FormatEntry> format_entries() {
  return {pack_entry(), tar_entry(), bigearthnet_entry(), tfrecord_entry(), lmdb_entry(),
          csv_entry(),  npy_entry(), idx_entry(),         cifar_entry(),    images_entry()};
}

}  // namespace ronde::data
