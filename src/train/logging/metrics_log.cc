#include "ronde/train/logging/metrics_log.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "ronde/train/checkpoint/write_all.h"

namespace ronde::train {
namespace {

using Json = nlohmann::ordered_json;

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

FileDescriptor open_for_writing(const std::filesystem::path& path, int flags) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (!file) throw Error::system(errno, "cannot write the log {}", path.string());
  return file;
}

// Written beside and renamed: a log that was there is never half there.
void replace(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path beside = path;
  beside += ".new";
  const FileDescriptor file = open_for_writing(beside, O_TRUNC);
  if (!detail::write_all(file.get(), content) || ::rename(beside.c_str(), path.c_str()) != 0)
    throw Error::system(errno, "cannot write the log {}", path.string());
}

}  // namespace

std::string lines_up_to(std::string_view log, std::int64_t last_step) {
  std::string kept;
  for (std::size_t end = log.find('\n'); end != std::string_view::npos; end = log.find('\n')) {
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end + 1);
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) continue;
    const auto step = json.find("step");
    if (step == json.end() || !step->is_number_integer() || step->get<std::int64_t>() <= last_step)
      kept.append(line).append("\n");
  }
  return kept;
}

MetricsLog::MetricsLog(std::filesystem::path file, std::optional<std::int64_t> resumed_step) : path_(std::move(file)) {
  std::error_code ignored;  // opening the file says what is wrong
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  if (resumed_step && std::filesystem::exists(path_, ignored))
    replace(path_, lines_up_to(read_all(path_), *resumed_step));
  descriptor_ = open_for_writing(path_, O_APPEND | (resumed_step ? 0 : O_TRUNC));
}

void MetricsLog::write(std::int64_t step, const std::vector<Metric>& metrics) {
  if (error_) return;
  Json line;
  line["step"] = step;
  for (const auto& [name, value] : metrics) std::visit([&](const auto& v) { line[name] = v; }, value);
  // One call a line: nothing waits in memory, and lines are never mixed with those of another program.
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!detail::write_all(descriptor_.get(), text))
    error_ = Error::system(errno, "cannot write the log {}", path_.string());
}

}  // namespace ronde::train
