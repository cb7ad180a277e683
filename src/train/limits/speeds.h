#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ronde {
class Settings;
}

namespace ronde::train {

// How fast one rank trains what, as earlier trainings have found: so that one on many ranks can say how well it scales.
// A plain value.
class Speeds {
 public:
  // What decides how long a sample takes: network, data, arithmetic, hardware, threads a rank. Not the batch.
  static std::string work_of(const Settings& settings, std::string_view processor, int threads);

  // REQUIRES: samples_per_second > 0.
  void note(const std::string& work, std::int64_t batch, double samples_per_second);

  // Samples/s a rank relative to those of one rank alone, with the same batch if that was seen, else with one rank's
  // share of it. Nothing: neither was.
  std::optional<double> efficiency(const std::string& work, std::int64_t batch, int ranks,
                                   double samples_per_second) const;

  // As a file holds them. What is no such text holds none: they are nothing to stop for.
  static Speeds parse(std::string_view text);
  std::string text() const;

 private:
  std::map<std::string, std::map<std::int64_t, double>> alone_;  // by work and batch
};

// Those of this user. A file that cannot be read or written is as if it were not there.
Speeds load_speeds(const std::filesystem::path& file);
void save_speeds(const std::filesystem::path& file, const Speeds& speeds);

}  // namespace ronde::train
