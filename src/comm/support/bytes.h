#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "ronde/base/error.h"

// What ranks tell each other, as bytes. They run on machines of one kind: numbers travel as they lie in memory.
namespace ronde::comm::support {

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// FAILS WITH: Bug when there are fewer, naming `what` was being read.
inline std::string_view take(std::string_view& bytes, std::size_t count, std::string_view what) {
  if (count > bytes.size()) throw Error(Error::Kind::Bug, fmt::format("{} ends in the middle", what));
  const std::string_view piece = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return piece;
}

template <class T>
T take(std::string_view& bytes, std::string_view what) {
  T value{};
  std::memcpy(&value, take(bytes, sizeof(value), what).data(), sizeof(value));
  return value;
}

}  // namespace ronde::comm::support
