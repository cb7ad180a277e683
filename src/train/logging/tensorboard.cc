#include "ronde/train/logging/tensorboard.h"

#include <bit>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/data/formats/proto/tfrecord_framing.h"
#include "ronde/train/checkpoint/write_all.h"

namespace ronde::train {
namespace {

// --- protobuf's wire format: a key of field number and form, then the value

enum class Form : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, std::uint32_t field, Form form) {
  put_varint(out, field << 3 | static_cast<std::uint32_t>(form));
}

void put_int(std::string& out, std::uint32_t field, std::int64_t value) {
  put_key(out, field, Form::Varint);
  put_varint(out, static_cast<std::uint64_t>(value));
}

template <class Real>
void put_real(std::string& out, std::uint32_t field, Real value) {
  put_key(out, field, sizeof(Real) == 8 ? Form::Fixed64 : Form::Fixed32);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view value) {
  put_key(out, field, Form::Bytes);
  put_varint(out, value.size());
  out += value;
}

// --- the fields of tensorflow.Event, as event.proto and summary.proto number them
namespace event {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace summary {
constexpr std::uint32_t kValue = 1, kTag = 1, kSimpleValue = 2;
}
namespace session_log {
constexpr std::uint32_t kStatus = 1;
constexpr std::int64_t kStart = 1;
}  // namespace session_log

std::string event_at(double wall_time, std::int64_t step) {
  std::string out;
  put_real(out, event::kWallTime, wall_time);
  if (step != 0) put_int(out, event::kStep, step);
  return out;
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
  std::string out = event_at(wall_time, 0);
  put_bytes(out, event::kFileVersion, "brain.Event:2");
  return out;
}

std::string restart_event(double wall_time, std::int64_t first_step) {
  std::string log, out = event_at(wall_time, first_step);
  put_int(log, session_log::kStatus, session_log::kStart);
  put_bytes(out, event::kSessionLog, log);
  return out;
}

std::string scalars_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string values, out = event_at(wall_time, step);
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, summary::kTag, tag);
    put_real(value, summary::kSimpleValue, static_cast<float>(number));
    put_bytes(values, summary::kValue, value);
  }
  put_bytes(out, event::kSummary, values);
  return out;
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
