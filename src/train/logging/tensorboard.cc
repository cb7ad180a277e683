#include "ronde/train/logging/tensorboard.h"

#include <cerrno>
#include <chrono>

#include <fcntl.h>

#include "ronde/base/wire/event_file.h"
#include "ronde/base/wire/tfrecord.h"
#include "ronde/train/checkpoint/write_all.h"

namespace ronde::train {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resumed_step)
    : path_(folder / event_file_name()) {
  std::error_code ignored;  // opening the file says what is wrong
  std::filesystem::create_directories(folder, ignored);
  descriptor_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (!descriptor_) throw Error::system(errno, "cannot write TensorBoard's file {}", path_.string());
  append(version_event(now()));
  if (resumed_step) append(restart_event(now(), *resumed_step + 1));
}

void TensorBoardWriter::write(std::int64_t step, const std::vector<Scalar>& scalars) {
  append(scalars_event(now(), step, scalars));
}

void TensorBoardWriter::append(std::string_view event) {
  if (error_) return;
  std::string record;
  append_tfrecord(record, event);
  if (!detail::write_all(descriptor_.get(), record))
    error_ = Error::system(errno, "cannot write TensorBoard's file {}", path_.string());
}

}  // namespace ronde::train
