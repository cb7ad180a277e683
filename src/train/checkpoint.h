#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ronde/base/error.h"
#include "ronde/comm/group.h"
#include "ronde/models/tensor_map.h"

// A checkpoint is a folder, step-00001200, that holds all that training needs to go on: tensors as safetensors files
// and manifest.json. It appears whole or not at all, whatever happens to the program that writes it.
namespace ronde::train {

using models::TensorMap;

// Where training stands.
struct CheckpointInfo {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t samples = 0;  // of this epoch that were used, over all ranks: the position in the data
  std::uint64_t seed = 0;
  int ranks = 1;                                     // that wrote it; any number may go on from it
  std::map<std::string, std::string> settings = {};  // as text
  std::map<std::string, std::string> extra = {};     // what the caller likes
};

struct Checkpoint {
  CheckpointInfo info = {};
  TensorMap model = {};      // parameters and buffers: models::state_of()
  TensorMap optimizer = {};  // state_tensors()
  TensorMap ema = {};        // the moving average of `model`, where there is one (train.ema)
};

struct CheckpointOptions {
  std::filesystem::path folder;  // made if it is not there
  int keep = 3;                  // older ones are removed, once the new one is in place
  // All members write their share at the same time, into a folder that all of them see; none: this process writes all.
  // REQUIRES: nobody uses the group for anything else meanwhile.
  std::optional<comm::Group> group = {};
};

// Writes a checkpoint, and returns its folder when it is safely on the disk. One of the same step is replaced.
// With a group every member calls it, with the same tensors.
// FAILS WITH: System (such as a full disk), BadInput (tensors that cannot be stored); with a group also as
// Handle::wait(), and the same error on all members. Older checkpoints are then as they were, and nothing is left of
// the new one.
std::filesystem::path save_checkpoint(const CheckpointOptions& options, const Checkpoint& checkpoint);

// Reads a checkpoint, however many ranks wrote it, and verifies every byte against the checksums in its manifest.
// FAILS WITH: System, BadInput, naming the file and what is wrong with it.
Checkpoint load_checkpoint(const std::filesystem::path& path);

// Hears why a checkpoint was passed over.
using CheckpointWarning = std::function<void(const std::string& warning)>;

// The newest checkpoint in a folder whose manifest can be read and whose files are all there, in full length; nothing:
// there is none, or no such folder. FAILS WITH: System.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder,
                                                       const CheckpointWarning& warn = nullptr);

// The newest that load_checkpoint() can load. FAILS WITH: System.
std::optional<Checkpoint> load_newest_checkpoint(const std::filesystem::path& folder,
                                                 const CheckpointWarning& warn = nullptr);

}  // namespace ronde::train
