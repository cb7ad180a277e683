#include "ronde/tune/output/trial_files.h"

#include <cerrno>

#include "ronde/base/error.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
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
  if (files.folder == folder) return;  // it exploits another, and goes on
  files = Files{folder, std::ofstream(folder / "result.json", std::ios::app),
                std::ofstream(folder / "progress.csv", std::ios::app), columns_of(folder / "progress.csv")};
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
  check(files.results, files.folder / "result.json");
  check(files.progress, files.folder / "progress.csv");
}

void TrialFiles::fail(const std::filesystem::path& folder, const std::string& error) {
  std::ofstream out(folder / "error.txt", std::ios::app);
  out << error << "\n";
}

void TrialFiles::end(int trial) {
  files_.erase(trial);
}

}  // namespace ronde::tune
