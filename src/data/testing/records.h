#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "ronde/data/records.h"
#include "ronde/data/testing/folder.h"

// What tests of formats share.
namespace ronde::data {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

template <class Number>
Array array_of(Shape shape, std::initializer_list<Number> values) {
  Array array(type_of<Number>(), std::move(shape));
  std::copy(values.begin(), values.end(), array.template values<Number>().begin());
  return array;
}

// Whether arrays are the same: type, shape and bytes.
inline bool same(const Array& a, const Array& b) {
  return a.type() == b.type() && a.shape() == b.shape() && a.text() == b.text();
}

inline std::int64_t class_of(const Sample& sample) {
  return static_cast<std::int64_t>(sample.at("class").number());
}

// Reads all of it: what is damaged must show itself here at the latest. Returns the first error, empty for none.
inline std::string first_error(const RecordsOptions& options) {
  return message_of([&] {
    const auto records = open_records(options);
    for (std::int64_t i = 0; i < records->size(); ++i) records->read(i);
  });
}

// Cuts a file after every byte: each must be an error that names the file, and none may crash. The exceptions are sizes
// at which what is left is whole.
inline std::string check_cuts(const std::filesystem::path& file, const RecordsOptions& options,
                              const std::function<bool(std::size_t)>& is_whole = {}) {
  const std::string all = read_text(file);
  for (std::size_t size = 0; size < all.size(); ++size) {
    write_text(file, all.substr(0, size));
    const std::string error = first_error(options);
    const bool whole = is_whole && is_whole(size);
    if (!whole && error.find(file.filename().string()) == std::string::npos)
      return "cut at " + std::to_string(size) + ": '" + error + "'";
  }
  write_text(file, all);
  return first_error(options);
}

}  // namespace ronde::data
