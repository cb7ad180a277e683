#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/error.h"

// What goes over the socket between the launcher's bootstrap server and a rank. Both run on one machine, so numbers
// have its byte order. A message is its length (4 bytes), its type (1 byte) and its content.
namespace ronde::comm::detail {

// How a rank is said to have gone while nothing but this is known.
inline constexpr const char* kConnectionClosed = "its connection closed";

inline constexpr std::size_t kMostBlobBytes = 1 << 20;
inline constexpr std::size_t kMostHelloBytes = 64;  // of a stranger we read no more than a greeting

enum class MessageType : std::uint8_t {
  Hello,    // rank -> server: who I am
  Give,     // rank -> server: my blob
  GiveUp,   // rank -> server: my time is over, who is missing?
  Bye,      // rank -> server: I close, and may come again
  Welcome,  // server -> rank
  Refused,  // server -> rank: why not
  All,      // server -> rank: everyone's blobs
  Failed,   // server -> rank: why there are none
};

struct Message {
  MessageType type;
  std::string content;
};

struct Hello {
  std::int32_t rank = 0;
  std::int32_t size = 0;
};

// Why an exchange has no result. The receiver adds how long it waited.
struct Failure {
  Error::Kind kind = Error::Kind::PeerLost;
  std::vector<int> ranks;
  std::string text;
};

std::string pack(const Message& message);

std::string write_hello(const Hello& hello);
std::string write_blobs(const std::vector<std::string>& blobs);
std::string write_failure(const Failure& failure);

// FAIL WITH: System for content that is not what its type promises.
Hello read_hello(std::string_view content);
std::vector<std::string> read_blobs(std::string_view content);
Failure read_failure(std::string_view content);

// Cuts a stream of bytes into messages.
class MessageReader {
 public:
  explicit MessageReader(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void allow(std::size_t most_bytes) { most_bytes_ = most_bytes; }
  void add(std::string_view bytes) { bytes_ += bytes; }

  // The next whole message, if it is there.
  // FAILS WITH: System for one that is larger than allowed or of no known type.
  std::optional<Message> next();

 private:
  std::size_t most_bytes_;
  std::string bytes_;
};

}  // namespace ronde::comm::detail
