#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::tune {

// Messages between a search and a process that runs its trials: JSON objects, one per line, over a socket.
// One thread at a time.
class LineSocket {
 public:
  LineSocket() = default;
  explicit LineSocket(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

  // False: the other end is gone.
  bool send(const nlohmann::json& message);

  // The next message; waits for it. Nothing: the other end is gone.
  // FAILS WITH: BadInput for bytes that are no message.
  std::optional<nlohmann::json> receive();

  // Reads what has come without waiting. False: the other end is gone (what came before can still be taken).
  bool fill();
  // The next whole message of what has been read. FAILS WITH: BadInput as receive().
  std::optional<nlohmann::json> take();

  int descriptor() const { return descriptor_.get(); }
  // The other end reads that this one is gone, whoever else has a copy of it.
  void hang_up();

 private:
  bool read_some(int flags);

  FileDescriptor descriptor_;
  std::string text_;  // read and not taken
  std::size_t taken_ = 0;
};

// Two ends, connected to each other. FAILS WITH: System.
std::pair<FileDescriptor, FileDescriptor> socket_pair();

}  // namespace ronde::tune
