#pragma once

#include <cstddef>
#include <cstdint>

#include "ronde/data/sample.h"
#include "ronde/data/sample_kind.h"

namespace ronde::data {

// Who asks for a sample: all that its randomness may depend on. Random(seed, epoch, index) is what a decoder draws
// from, so a picture looks the same on any thread and rank, and different in every epoch.
struct Draw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t index = 0;
};

// Makes of a stored sample what a network sees: decodes, crops, normalises, straight into the memory of a batch.
// Safe to call from several threads.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // What it makes of every sample.
  virtual SampleKind kind() const = 0;

  // Whether what it makes of a sample differs from epoch to epoch.
  virtual bool draws() const { return false; }

  // Whether nobody cares which samples a batch holds: then memory that was filled once is handed out again as it is.
  virtual bool filled_once() const { return false; }

  // How much memory decode() takes besides `into` and `stored` while it runs, near and never below; found from the
  // picture's header. FAILS WITH: BadInput for what is no picture.
  virtual std::size_t scratch_bytes(const Sample& stored, const Draw& draw) const = 0;

  // Writes all of a sample. REQUIRES: spans of the sizes that kind() says.
  // FAILS WITH: BadInput, saying what is wrong; the caller adds where the sample lies.
  virtual void decode(const Sample& stored, const Draw& draw, const SampleSpace& into) const = 0;
};

}  // namespace ronde::data
