#include "ronde/train/checkpoint/checkpoint_share.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/models/safetensors.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"

namespace ronde::train {
namespace {

using Json = nlohmann::json;

int rank_in(const CheckpointOptions& options) {
  return options.group ? options.group->rank() : 0;
}
int size_of(const CheckpointOptions& options) {
  return options.group ? options.group->size() : 1;
}

// The texts of all members, in their order.
std::vector<std::string> gather_texts(const comm::Group& group, const std::string& name, std::string mine) {
  std::vector<std::uint8_t> bytes(mine.begin(), mine.end());
  const comm::Result result = group.allgather(name, comm::buffer_of(bytes)).wait();
  const auto* at = static_cast<const char*>(result.output.data);
  std::vector<std::string> texts;
  for (const std::int64_t length : result.splits) {
    texts.emplace_back(at, static_cast<std::size_t>(length));
    at += length;
  }
  return texts;
}

std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return Json::object({{"result", work()}}).dump();
  } catch (const std::exception& error) {
    return Json::object({{"error", error.what()}}).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

// Every member does its work; then all of them know what came of it, and go on together or fail together.
std::vector<std::string> together(const CheckpointOptions& options, const std::string& name,
                                  const std::function<std::string()>& work) {
  if (!options.group) return {work()};
  std::vector<std::string> results;
  for (const std::string& text : gather_texts(*options.group, "checkpoint " + name, outcome_of(work))) {
    const Json outcome = Json::parse(text);
    const int rank = options.group->ranks()[results.size()];
    if (outcome.contains("error"))
      throw Error(Error::Kind::System, fmt::format("rank {}: {}", rank, outcome["error"].get<std::string>()),
                  {.ranks = {rank}});
    results.push_back(outcome.at("result").get<std::string>());
  }
  return results;
}

std::string file_name(const std::string& holds, int rank, int size) {
  if (size == 1) return holds + ".safetensors";
  return fmt::format("{}-{:05}-of-{:05}.safetensors", holds, rank + 1, size);
}

std::vector<FileRecord> write_share(const CheckpointFolder& folder, const CheckpointOptions& options,
                                    const CheckpointShare& share) {
  std::vector<FileRecord> files;
  const auto add = [&](const std::string& holds, const TensorMap& tensors) {
    if (!tensors.empty())
      files.push_back(folder.write_tensors(file_name(holds, rank_in(options), size_of(options)), holds, tensors));
  };
  add("model", share.model);
  add("optimizer", share.optimizer);
  add("ema", share.ema);
  return files;
}

Manifest manifest_of(const CheckpointOptions& options, const CheckpointShare& share,
                     const std::vector<std::string>& files_of_ranks) {
  Manifest manifest{.info = share.info,
                    .files = {},
                    .model = share.all_model,
                    .optimizer = share.all_optimizer,
                    .ema = share.all_ema};
  if (options.group) manifest.info.ranks = size_of(options);
  for (const std::string& text : files_of_ranks)
    std::ranges::move(parse_files(text), std::back_inserter(manifest.files));
  return manifest;
}

}  // namespace

TensorMap share_of(const TensorMap& tensors, int rank, int size) {
  std::vector<TensorMap::const_iterator> order;
  for (auto at = tensors.begin(); at != tensors.end(); ++at) order.push_back(at);
  // Large ones first, each to whoever has least so far.
  std::ranges::stable_sort(order, std::ranges::greater(), [](auto at) { return models::stored_bytes(at->second); });
  std::vector<std::size_t> bytes(static_cast<std::size_t>(size), 0);
  TensorMap share;
  for (const auto& at : order) {
    const auto least = std::ranges::min_element(bytes);
    *least += models::stored_bytes(at->second);
    if (least - bytes.begin() == rank) share.insert(*at);
  }
  return share;
}

CheckpointShare take_share(const Checkpoint& checkpoint, const CheckpointOptions& options) {
  const int rank = rank_in(options), size = size_of(options);
  return {.info = checkpoint.info,
          .all_model = records_of(checkpoint.model),
          .all_optimizer = records_of(checkpoint.optimizer),
          .all_ema = records_of(checkpoint.ema),
          .model = share_of(checkpoint.model, rank, size),
          .optimizer = share_of(checkpoint.optimizer, rank, size),
          .ema = share_of(checkpoint.ema, rank, size)};
}

std::filesystem::path save_share(const CheckpointOptions& options, const CheckpointShare& share) {
  const CheckpointFolder folder(options.folder, share.info.step);
  const bool first = rank_in(options) == 0;
  std::filesystem::path path = options.folder / checkpoint_name(share.info.step);
  try {
    together(options, "prepare", [&] {
      if (first) folder.prepare();
      return std::string();
    });
    const auto files = together(options, "write", [&] { return files_text(write_share(folder, options, share)); });
    together(options, "publish", [&] {
      if (!first) return std::string();
      folder.write_text(kManifestName, manifest_text(manifest_of(options, share, files)));
      folder.publish();
      folder.remove_older(options.keep);
      return std::string();
    });
  } catch (...) {
    if (first) folder.discard();
    throw;
  }
  return path;
}

std::filesystem::path save_checkpoint(const CheckpointOptions& options, const Checkpoint& checkpoint) {
  return save_share(options, take_share(checkpoint, options));
}

}  // namespace ronde::train
