#include <system_error>
#include <utility>

#include "ronde/models/safetensors.h"
#include "ronde/train/checkpoint.h"
#include "ronde/train/checkpoint/checkpoint_checksum.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/checkpoint/checkpoint_manifest.h"

namespace ronde::train {
namespace {

namespace fs = std::filesystem;

void check_length(const fs::path& path, const FileRecord& record) {
  std::error_code failure;
  const auto bytes = fs::file_size(path, failure);
  if (failure) throw Error::system(failure.value(), "cannot read {}", path.string());
  if (bytes != record.bytes)
    throw Error::bad_input("{} has {} bytes, but was written with {}", path.string(), bytes, record.bytes);
}

TensorMap read_verified(const fs::path& path, const FileRecord& record) {
  check_length(path, record);
  Checksum checksum;
  auto content = models::read_safetensors(path, [&](std::span<const std::byte> bytes) { checksum.add(bytes); });
  if (checksum.text() != record.checksum)
    throw Error::bad_input("{} has changed since it was written: its checksum is {}, expected {}", path.string(),
                           checksum.text(), record.checksum);
  return std::move(content.tensors);
}

void check_tensors(const fs::path& path, const std::string& holds, const TensorMap& found,
                   const TensorRecords& records) {
  const TensorRecords have = records_of(found);
  for (const auto& [name, record] : records)
    if (const auto at = have.find(name); at == have.end() || at->second != record)
      throw Error::bad_input("checkpoint {}: tensor '{}' of the {} differs from its manifest", path.string(), name,
                             holds);
  if (have.size() != records.size())
    throw Error::bad_input("checkpoint {} holds {} tensors of the {}, but its manifest names {}", path.string(),
                           have.size(), holds, records.size());
}

// The first of a folder's checkpoints, newest first, that `use` does not refuse.
template <class Use>
auto first_usable(const fs::path& folder, const CheckpointWarning& warn,
                  const Use& use) -> std::optional<decltype(use(folder))> {
  for (const fs::path& path : list_checkpoints(folder)) {
    try {
      return use(path);
    } catch (const Error& error) {
      if (warn) warn(fmt::format("cannot use checkpoint {}: {}", path.string(), error.what()));
    }
  }
  return {};
}

}  // namespace

Checkpoint load_checkpoint(const fs::path& path) {
  const Manifest manifest = read_manifest(path);
  Checkpoint checkpoint{.info = manifest.info};
  for (const FileRecord& file : manifest.files) {
    TensorMap& into = file.holds == "model" ? checkpoint.model
                      : file.holds == "ema" ? checkpoint.ema
                                            : checkpoint.optimizer;
    into.merge(read_verified(path / file.name, file));
  }
  check_tensors(path, "model", checkpoint.model, manifest.model);
  check_tensors(path, "optimizer", checkpoint.optimizer, manifest.optimizer);
  check_tensors(path, "moving average", checkpoint.ema, manifest.ema);
  return checkpoint;
}

std::optional<fs::path> newest_checkpoint(const fs::path& folder, const CheckpointWarning& warn) {
  return first_usable(folder, warn, [](const fs::path& path) {
    for (const FileRecord& file : read_manifest(path).files) check_length(path / file.name, file);
    return path;
  });
}

std::optional<Checkpoint> load_newest_checkpoint(const fs::path& folder, const CheckpointWarning& warn) {
  return first_usable(folder, warn, [](const fs::path& path) { return load_checkpoint(path); });
}

}  // namespace ronde::train
