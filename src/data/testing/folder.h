#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::data {

// A folder for a test's files, and how they come into it.
class Folder : public tests::Folder {
 public:
  void write(const std::string& name, std::span<const std::uint8_t> bytes) const {
    std::ofstream(path() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
};

// What the error says that `action` ends with; empty when it ends well.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

// An IDX file: header and values.
inline std::vector<std::uint8_t> idx_file(std::vector<int> extents, std::vector<std::uint8_t> values) {
  std::vector<std::uint8_t> file = {0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (const int extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::uint8_t>(extent >> shift));
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

}  // namespace ronde::data
