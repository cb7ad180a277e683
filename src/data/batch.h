#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ronde/data/order/batch_plan.h"
#include "ronde/data/source.h"

namespace ronde::data {

namespace detail {
struct BatchBuffer;
class BufferPool;
}  // namespace detail

// One rank's part of a global batch. Its memory goes back to the pipeline when it goes, to be filled again; it may
// outlive the pipeline. Only moves; to be used by one thread at a time.
class Batch {
 public:
  // What it is, apart from the samples.
  struct Facts {
    SampleKind kind = {};
    std::int64_t epoch = 0;
    std::int64_t index = 0;   // of the global batch in its epoch
    Range global = {};        // its places in the order of the epoch,
    Range local = {};         // and those of this rank's part
    Position after = {};      // where to go on when this batch is done
    bool ends_epoch = false;  // no batch follows in this epoch
    // Samples here, by number and in order, that stand in for such that could not be read: they count twice where each
    // must count once.
    std::vector<std::int64_t> stand_ins = {};
  };

  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  const Facts& facts() const { return facts_; }
  std::int64_t size() const { return facts_.local.size(); }          // samples here; may be 0
  std::int64_t global_size() const { return facts_.global.size(); }  // samples on all ranks

  // size() x channels x height x width values (or channels last, as the kind says), aligned to 64 bytes.
  std::span<float> features() const;
  std::span<Bf16> features16() const;             // instead, for kinds that are bf16
  std::span<std::uint8_t> features8() const;      // or for those that are u8,
  std::span<Augmentation> augmentations() const;  // each with an augmentation
  // size() times what facts().kind says of a sample; empty for kinds that have none.
  std::span<std::int64_t> classes() const;
  std::span<float> flags() const;
  // Where its sample number i lies.
  SampleSpace sample(std::int64_t i) const;

 private:
  friend class Issuer;
  friend class PipelineBuilder;
  bool is_filled() const;  // all of its memory has held samples since it was taken from the system
  void mark_filled();
  Batch(Facts facts, std::shared_ptr<detail::BufferPool> pool);

  Facts facts_;
  std::shared_ptr<detail::BufferPool> pool_;
  std::unique_ptr<detail::BatchBuffer> buffer_;
};

}  // namespace ronde::data
