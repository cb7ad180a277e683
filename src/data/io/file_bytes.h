#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ronde::data::detail {

using Bytes = std::span<const std::uint8_t>;

// All bytes of a file, to read only. Plain files are mapped, so that the ranks of a machine share the memory; of a file
// whose name ends in .gz it is what is packed inside. Safe to read from any thread. Only moves.
class FileBytes {
 public:
  // FAILS WITH: System (it cannot be read), BadInput (.gz that is damaged or cut off, naming the offset).
  explicit FileBytes(const std::filesystem::path& path);
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;

  Bytes bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<std::uint8_t> unpacked_;
  Bytes bytes_;
  bool mapped_ = false;
};

// What is in gzip's format, unpacked. `name` is what errors call it. FAILS WITH: BadInput.
std::vector<std::uint8_t> unpack_gzip(Bytes packed, const std::string& name);

// The first of `names` that the folder holds, plain or with .gz.
// FAILS WITH: BadInput that names data set, folder and files, and the setting that says where.
std::filesystem::path find_data_file(const std::string& data_set, const std::filesystem::path& folder,
                                     std::span<const std::string> names);

}  // namespace ronde::data::detail
