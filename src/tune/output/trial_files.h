#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ronde/tune/trial.h"

namespace ronde::tune {

// What a search leaves behind of each trial, as Ray Tune does: params.json, a line per result in result.json, a row per
// result in progress.csv, curves and hyperparameters for TensorBoard, error.txt. A disk that is full is told once; the
// search goes on. One thread at a time.
class TrialFiles {
 public:
  explicit TrialFiles(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  // It starts, or starts again, perhaps with another configuration.
  void start(const std::filesystem::path& folder, const Trial& trial);
  void write(const Trial& trial, const Json& result);
  void fail(const std::filesystem::path& folder, const std::string& error);
  // It has ended; its files are closed.
  void end(const Trial& trial);

 private:
  struct Files {
    std::filesystem::path folder;
    std::ofstream results, progress, events;
    std::vector<std::string> columns;
  };

  static void start_events(std::ofstream& out, const Trial& trial);
  void check(std::ofstream& out, const std::filesystem::path& file);

  std::function<void(const std::string&)> warn_;
  std::map<int, Files> files_;  // of trials that run
  bool has_told_ = false;
};

// The numbers of a result, by path, as curves for TensorBoard; what only counts or tells the time is left out. Pure.
std::vector<std::pair<std::string, double>> curves_of(const Json& result);

// The columns of progress.csv: the numbers, texts and truth values of a result, by path; "config" is left out. Pure.
std::vector<std::string> csv_columns(const Json& result);
// One row of it: what has no column is left out. Pure.
std::string csv_row(const Json& result, const std::vector<std::string>& columns);

}  // namespace ronde::tune
