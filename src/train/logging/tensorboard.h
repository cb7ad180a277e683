#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"

namespace ronde::train {

// A named number, such as {"loss/train", 0.43}.
using Scalar = std::pair<std::string, double>;

// Curves for TensorBoard: an event file in a folder that `tensorboard --logdir FOLDER` shows.
//
//   TensorBoardWriter board("out/tensorboard");
//   board.write(step, {{"loss/train", 0.43}, {"accuracy/train", 0.91}});
//
// What is written is in the file when write() returns. As with MetricsLog, a full disk does not stop training: error()
// tells. Not thread-safe; for rank 0.
class TensorBoardWriter {
 public:
  // A file of its own each time. When training goes on after `resumed_step`, TensorBoard is told to forget what older
  // files say of later steps. FAILS WITH: System.
  explicit TensorBoardWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resumed_step = {});

  void write(std::int64_t step, const std::vector<Scalar>& scalars);

  const std::optional<Error>& error() const { return error_; }
  const std::filesystem::path& file() const { return path_; }

 private:
  void append(std::string_view event);

  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::optional<Error> error_;
};

}  // namespace ronde::train
