#include "ronde/base/wire/event_file.h"

#include <bit>
#include <chrono>

#include <unistd.h>

#include "ronde/base/text/format.h"
#include "ronde/base/wire/proto_writer.h"

namespace ronde {
namespace {

// --- the fields of tensorflow.Event, as event.proto and summary.proto number them
namespace event {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace summary {
constexpr std::uint32_t kValue = 1, kTag = 1, kSimpleValue = 2, kMetadata = 9, kPluginData = 1, kPluginName = 1,
                        kPluginContent = 2;
}
namespace session_log {
constexpr std::uint32_t kStatus = 1;
constexpr std::uint64_t kStart = 1;
}  // namespace session_log

// --- those of HParamsPluginData (TensorBoard's plugin_data.proto) and of google.protobuf.Value
namespace hparams {
constexpr std::uint32_t kSessionStart = 3, kSessionEnd = 4, kMap = 1, kKey = 1, kValue = 2, kStartTime = 5, kStatus = 1,
                        kEndTime = 2;
}
namespace value {
constexpr std::uint32_t kNumber = 2, kString = 3, kBool = 4;
}

std::string event_at(double wall_time, std::int64_t step) {
  std::string text;
  ProtoWriter out(text);
  out.fixed64(event::kWallTime, std::bit_cast<std::uint64_t>(wall_time));
  if (step != 0) out.varint(event::kStep, static_cast<std::uint64_t>(step));
  return text;
}

// A summary without a value, whose metadata is what the plugin reads.
std::string hparams_event(double wall_time, const char* tag, const std::string& content) {
  std::string text = event_at(wall_time, 0);
  ProtoWriter out(text);
  out.message(event::kSummary, [&] {
    out.message(summary::kValue, [&] {
      out.bytes(summary::kTag, tag);
      out.message(summary::kMetadata, [&] {
        out.message(summary::kPluginData, [&] {
          out.bytes(summary::kPluginName, "hparams");
          out.bytes(summary::kPluginContent, content);
        });
      });
    });
  });
  return text;
}

void write_value(ProtoWriter& out, const Hyperparameter& one) {
  if (const auto* number = std::get_if<double>(&one.second))
    out.fixed64(value::kNumber, std::bit_cast<std::uint64_t>(*number));
  else if (const auto* truth = std::get_if<bool>(&one.second))
    out.varint(value::kBool, *truth ? 1 : 0);
  else
    out.bytes(value::kString, std::get<std::string>(one.second));
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

std::string scalars_event(double wall_time, std::int64_t step,
                          const std::vector<std::pair<std::string, double>>& scalars) {
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

std::string session_start_event(double wall_time, const std::vector<Hyperparameter>& hyperparameters) {
  std::string content;
  ProtoWriter out(content);
  out.message(hparams::kSessionStart, [&] {
    for (const Hyperparameter& one : hyperparameters)
      out.message(hparams::kMap, [&] {
        out.bytes(hparams::kKey, one.first);
        out.message(hparams::kValue, [&] { write_value(out, one); });
      });
    out.fixed64(hparams::kStartTime, std::bit_cast<std::uint64_t>(wall_time));
  });
  return hparams_event(wall_time, "_hparams_/session_start_info", content);
}

std::string session_end_event(double wall_time, SessionEnd how) {
  std::string content;
  ProtoWriter out(content);
  out.message(hparams::kSessionEnd, [&] {
    out.varint(hparams::kStatus, static_cast<std::uint64_t>(how));
    out.fixed64(hparams::kEndTime, std::bit_cast<std::uint64_t>(wall_time));
  });
  return hparams_event(wall_time, "_hparams_/session_end_info", content);
}

std::string event_file_name() {
  char host[256] = {};
  if (::gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("events.out.tfevents.{}.{}.{}",
                     std::chrono::duration_cast<std::chrono::microseconds>(time).count(), host, ::getpid());
}

}  // namespace ronde
