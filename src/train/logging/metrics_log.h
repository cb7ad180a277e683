#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"

namespace ronde::train {

// One value of a line: a number (one that is not finite becomes null), text, or a list of numbers.
using Metric = std::pair<std::string, std::variant<std::int64_t, double, std::string, std::vector<double>>>;

// What happened when, one JSON object a line, for programs to read:
//
//   MetricsLog log("out/log.jsonl");
//   log.write(100, {{"kind", "train"}, {"loss", 0.43}, {"lr", 0.1}});   // {"step":100,"kind":"train",...}
//
// A line is in the file when write() returns, also if the process is killed then. That a line cannot be written (a full
// disk) does not stop training: from then on nothing is written, and error() tells why. Not thread-safe; for rank 0.
class MetricsLog {
 public:
  // Starts the file anew; or, when training goes on after `resumed_step`, keeps its lines up to that step, so that no
  // step is in it twice. FAILS WITH: System.
  explicit MetricsLog(std::filesystem::path file, std::optional<std::int64_t> resumed_step = {});

  void write(std::int64_t step, const std::vector<Metric>& metrics);

  const std::optional<Error>& error() const { return error_; }
  const std::filesystem::path& file() const { return path_; }

 private:
  const std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::optional<Error> error_;
};

// The lines of a log whose step is at most `last_step`; also those without a step, but no line that was cut off. Pure.
std::string lines_up_to(std::string_view log, std::int64_t last_step);

}  // namespace ronde::train
