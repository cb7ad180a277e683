#pragma once

#include <filesystem>

#include "ronde/train/checkpoint/checkpoint_manifest.h"

namespace ronde::train {

// The tensors that one of `size` ranks writes: each tensor is some rank's, and all ranks get about as many bytes. Pure,
// and the same on every rank.
TensorMap share_of(const TensorMap& tensors, int rank, int size);

// What one rank writes of a checkpoint, and what the manifest says of all of it.
struct CheckpointShare {
  CheckpointInfo info = {};
  TensorRecords all_model = {}, all_optimizer = {}, all_ema = {};
  TensorMap model = {}, optimizer = {}, ema = {};
};
CheckpointShare take_share(const Checkpoint& checkpoint, const CheckpointOptions& options);

// As save_checkpoint(), of which it is the main part.
std::filesystem::path save_share(const CheckpointOptions& options, const CheckpointShare& share);

}  // namespace ronde::train
