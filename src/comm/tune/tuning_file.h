#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::comm::detail {

// What a search has found, for the next run of the same shape.
struct TuningRecord {
  // The shape: what must be the same for the rest to be of use.
  int nodes = 1;
  int ranks = 1;
  std::size_t step_bytes = 0;
  // What it found.
  std::size_t fusion_bytes = 0;
  std::size_t first_bucket_bytes = 0;
  std::string algorithm = {};
  double chosen_us = 0;
  double default_us = 0;

  bool same_shape(const TuningRecord& other) const {
    return nodes == other.nodes && ranks == other.ranks && step_bytes == other.step_bytes;
  }
  friend bool operator==(const TuningRecord&, const TuningRecord&) = default;
};

// A file holds the records of several shapes, as JSON.
std::string write_tunings(const std::vector<TuningRecord>& records);
// FAILS WITH: BadInput, saying what is wrong with the text.
std::vector<TuningRecord> read_tunings(std::string_view text);

// Nothing when there is no such file. FAILS WITH: System, naming the file; BadInput for one that is none of these.
std::optional<std::vector<TuningRecord>> load_tunings(const std::string& path);
// Puts a record into the file, in place of one of the same shape. The file is whole at any time.
// FAILS WITH: as load_tunings.
void save_tuning(const std::string& path, const TuningRecord& record);

}  // namespace ronde::comm::detail
