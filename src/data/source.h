#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ronde::data {

// What every sample of a source is: features of one shape and one label.
struct SampleKind {
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t classes = 2;
  std::size_t values() const { return static_cast<std::size_t>(channels * height * width); }
};

// Samples by index. Safe to read from several threads; the same index gives the same sample, always and on every rank.
class Source {
 public:
  virtual ~Source() = default;

  virtual std::string name() const = 0;
  virtual SampleKind kind() const = 0;
  virtual std::int64_t size() const = 0;

  // Fills kind().values() values, channels first, normalised, and returns the label, 0 <= label < classes.
  // FAILS WITH: BadInput, naming file and sample.
  virtual std::int64_t read(std::int64_t index, std::span<float> values) const = 0;
};

}  // namespace ronde::data
