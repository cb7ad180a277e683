#include "ronde/tune/output/trial_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
#include "ronde/base/wire/event_file.h"
#include "ronde/base/wire/tfrecord.h"
#include "ronde/tune/space/space.h"

namespace ronde::tune {
namespace {

std::string csv_cell(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  return join(cells, ",") + "\n";
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<Hyperparameter> hyperparameters_of(const Json& config) {
  std::vector<Hyperparameter> all;
  for (const auto& [path, value] : flatten(config)) {
    if (value.is_number())
      all.emplace_back(path, value.get<double>());
    else if (value.is_boolean())
      all.emplace_back(path, value.get<bool>());
    else
      all.emplace_back(path, value.is_string() ? value.get<std::string>()
                                               : value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return all;
}

// The columns that the file has from before, when a trial goes on.
std::vector<std::string> columns_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::vector<std::string> columns;
  if (std::getline(in, line))
    for (const std::string_view name : split(line, ',')) columns.emplace_back(name);
  return columns;
}

}  // namespace

std::vector<std::pair<std::string, double>> curves_of(const Json& result) {
  constexpr auto kNone = std::to_array<std::string_view>({"timestamp", "training_iteration", "time_since_restore"});
  std::vector<std::pair<std::string, double>> curves;
  for (const auto& [path, value] : flatten(result))
    if (value.is_number() && !path.starts_with("config/") && std::ranges::find(kNone, path) == kNone.end())
      curves.emplace_back(path, value.get<double>());
  return curves;
}

std::vector<std::string> csv_columns(const Json& result) {
  std::vector<std::string> columns;
  for (const auto& [path, value] : flatten(result))
    if (!path.starts_with("config/") && path != "config" && !value.is_structured()) columns.push_back(path);
  return columns;
}

std::string csv_row(const Json& result, const std::vector<std::string>& columns) {
  const auto values = flatten(result);
  std::vector<std::string> cells;
  for (const std::string& column : columns) {
    const auto found = values.find(column);
    cells.push_back(found == values.end() ? "" : csv_cell(found->second));
  }
  return csv_line(cells);
}

void TrialFiles::check(std::ofstream& out, const std::filesystem::path& file) {
  if (out || has_told_) return;
  has_told_ = true;
  warn_(Error::system(errno, "'{}' cannot be written; results are in the journal alone", file.string()).message());
}

void TrialFiles::start(const std::filesystem::path& folder, const Trial& trial) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  std::ofstream parameters(folder / "params.json", std::ios::trunc);
  parameters << json_text(trial.config) << "\n";
  parameters.flush();
  check(parameters, folder / "params.json");
  Files& files = files_[trial.number];
  if (files.folder == folder) {  // it exploits another, or is tried again
    std::string record;
    append_tfrecord(record, restart_event(now(), trial.reports + 1));
    files.events << record << std::flush;
    return;
  }
  files = Files{folder, std::ofstream(folder / "result.json", std::ios::app),
                std::ofstream(folder / "progress.csv", std::ios::app),
                std::ofstream(folder / event_file_name(), std::ios::binary), columns_of(folder / "progress.csv")};
  start_events(files.events, trial);
}

void TrialFiles::start_events(std::ofstream& out, const Trial& trial) {
  std::string records;
  append_tfrecord(records, version_event(now()));
  if (trial.reports > 0) append_tfrecord(records, restart_event(now(), trial.reports + 1));
  append_tfrecord(records, session_start_event(now(), hyperparameters_of(trial.config)));
  out << records << std::flush;
}

void TrialFiles::write(const Trial& trial, const Json& result) {
  const auto found = files_.find(trial.number);
  if (found == files_.end()) return;
  Files& files = found->second;
  if (files.columns.empty()) {
    files.columns = csv_columns(result);
    files.progress << csv_line(files.columns);
  }
  files.progress << csv_row(result, files.columns) << std::flush;
  Json line = result;
  line["config"] = trial.config;
  files.results << line.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  std::string record;
  append_tfrecord(record, scalars_event(now(), trial.reports, curves_of(result)));
  files.events << record << std::flush;
  check(files.results, files.folder / "result.json");
  check(files.progress, files.folder / "progress.csv");
}

void TrialFiles::fail(const std::filesystem::path& folder, const std::string& error) {
  std::ofstream out(folder / "error.txt", std::ios::app);
  out << error << "\n";
}

void TrialFiles::end(const Trial& trial) {
  const auto found = files_.find(trial.number);
  if (found == files_.end()) return;
  std::string record;
  append_tfrecord(
      record, session_end_event(now(), trial.state == TrialState::Error ? SessionEnd::Failure : SessionEnd::Success));
  found->second.events << record;
  files_.erase(found);
}

}  // namespace ronde::tune
