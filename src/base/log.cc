#include "ronde/base/log.h"

#include <array>

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/ostream_sink.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

struct LevelName {
  LogLevel level;
  std::string_view setting;
  spdlog::level::level_enum theirs;
};
constexpr auto kLevels = std::to_array<LevelName>({{LogLevel::Debug, "debug", spdlog::level::debug},
                                                   {LogLevel::Info, "info", spdlog::level::info},
                                                   {LogLevel::Warn, "warn", spdlog::level::warn},
                                                   {LogLevel::Error, "error", spdlog::level::err},
                                                   {LogLevel::Off, "off", spdlog::level::off}});

spdlog::sink_ptr make_sink(const LogOptions& options) {
  if (options.stream) return std::make_shared<spdlog::sinks::ostream_sink_mt>(*options.stream, true);
  const auto mode = options.color ? spdlog::color_mode::always : spdlog::color_mode::never;
  return std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(mode);
}

}  // namespace

struct Log::Sink {
  spdlog::logger logger;
};

LogLevel parse_log_level(std::string_view name) {
  for (const auto& known : kLevels)
    if (known.setting == name) return known.level;
  throw Error::bad_input("'{}' is not a log level; use debug, info, warn, error or off", name);
}

Log::Log(const LogOptions& options)
    : level_(options.level), sink_(std::make_shared<Sink>(spdlog::logger("ronde", make_sink(options)))) {
  sink_->logger.set_level(spdlog::level::trace);  // ours decides, before any formatting is paid for
  sink_->logger.set_pattern("%H:%M:%S.%e " + (options.rank ? fmt::format("rank {} ", *options.rank) : "") +
                            "%^%l%$: %v");
}

void Log::write_line(LogLevel level, std::string_view line) const {
  sink_->logger.log(kLevels[static_cast<std::size_t>(level)].theirs, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace ronde
