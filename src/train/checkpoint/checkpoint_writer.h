#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/trace/recorder.h"
#include "ronde/train/checkpoint.h"
#include "ronde/train/checkpoint/checkpoint_interval.h"

namespace ronde::train {

struct CheckpointWriterOptions {
  CheckpointOptions checkpoint;
  bool background = true;               // write while training goes on
  trace::Recorder* recorder = nullptr;  // must outlive the writer
};

// Writes checkpoints while training goes on: tensors are copied before save() returns, the copy is written by a thread.
// A checkpoint that cannot be written does not stop training: its error waits to be taken.
//
//   CheckpointWriter writer({.checkpoint = {.folder = dir, .keep = 3}});
//   writer.save({.info = {.step = 1200}, .model = models::state_of(*network), .optimizer = state_tensors(...)});
//   if (auto error = writer.take_error()) log.warn("{}", error->what());
//
// One thread may use it. With a group every member has one, and saves at the same steps.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointWriterOptions options);
  ~CheckpointWriter();  // waits for what is being written
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the one before, if that is still being written; then copies and starts, or, without a background, writes.
  void save(const Checkpoint& checkpoint);
  bool busy() const;  // whether save() would have to wait
  void wait();        // until nothing is being written

  // The first error since the last call, of what has ended by now.
  std::optional<Error> take_error();
  // The last checkpoint that this writer has put in place.
  std::optional<std::filesystem::path> newest() const;
  // What that one has cost.
  std::optional<CheckpointCost> cost() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::train
