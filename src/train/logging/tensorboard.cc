#include "ronde/train/logging/tensorboard.h"

#include <bit>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/wire/proto_writer.h"
#include "ronde/data/formats/proto/tfrecord_framing.h"
#include "ronde/train/checkpoint/write_all.h"

namespace ronde::train {
namespace {

// --- the fields of tensorflow.Event, as event.proto and summary.proto number them
namespace event {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace summary {
constexpr std::uint32_t kValue = 1, kTag = 1, kSimpleValue = 2;
}
namespace session_log {
constexpr std::uint32_t kStatus = 1;
constexpr std::uint64_t kStart = 1;
}  // namespace session_log

std::string event_at(double wall_time, std::int64_t step) {
  std::string text;
  ProtoWriter out(text);
  out.fixed64(event::kWallTime, std::bit_cast<std::uint64_t>(wall_time));
  if (step != 0) out.varint(event::kStep, static_cast<std::uint64_t>(step));
  return text;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard takes every file whose name has "tfevents" in it, in the order of the names: so the time comes first.
std::string file_name() {
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("events.out.tfevents.{}.{}.{}",
                     std::chrono::duration_cast<std::chrono::microseconds>(time).count(), host, ::getpid());
}

}  // namespace

std::string version_event(double wall_time) {
  std::string text = event_at(wall_time, 0);
  ProtoWriter(text).bytes(event::kFileVersion, "brain.Event:2");
  return text;
}

std::string restart_event(double wall_time, std::int64_t first_step) {
  std::string text = event_at(wall_time, first_step);
  ProtoWriter out(text);
  out.message(event::kSessionLog, [&] { out.varint(session_log::kStatus, session_log::kStart); });
  return text;
}

std::string scalars_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string text = event_at(wall_time, step);
  ProtoWriter out(text);
  out.message(event::kSummary, [&] {
    for (const auto& [tag, number] : scalars)
      out.message(summary::kValue, [&] {
        out.bytes(summary::kTag, tag);
        out.fixed32(summary::kSimpleValue, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
      });
  });
  return text;
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resumed_step)
    : path_(folder / file_name()) {
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
  data::append_tfrecord(record, event);
  if (!detail::write_all(descriptor_.get(), record))
    error_ = Error::system(errno, "cannot write TensorBoard's file {}", path_.string());
}

}  // namespace ronde::train
