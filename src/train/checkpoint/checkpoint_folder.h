#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ronde/train/checkpoint/checkpoint_manifest.h"

namespace ronde::train {

std::string checkpoint_name(std::int64_t step);  // "step-00001200"
std::optional<std::int64_t> step_of(const std::string& name);

// The checkpoints in a folder, newest first. None: also when there is no such folder. FAILS WITH: System.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

// The folder that checkpoints are in, and how one comes into it: written under a name that nobody reads, and renamed.
// FAILS WITH: System, all of it.
class CheckpointFolder {
 public:
  CheckpointFolder(std::filesystem::path folder, std::int64_t step);

  // Makes the place for a new checkpoint; what was left by a program that was killed goes.
  void prepare() const;
  // Writes one file of it and sees it to the disk.
  FileRecord write_tensors(const std::string& name, const std::string& holds, const TensorMap& tensors) const;
  void write_text(const std::string& name, const std::string& text) const;
  // Makes it visible, in one step, in place of one of the same name. Returns where it is.
  std::filesystem::path publish() const;
  // Removes all but this one and the newest others, `keep` in all.
  void remove_older(int keep) const;
  // Removes what was written and not published.
  void discard() const noexcept;

 private:
  const std::filesystem::path folder_, final_, partial_;
};

}  // namespace ronde::train
