#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ronde/base/error.h"

// The bytes of tar files: ustar, with the long names of GNU tar and the extended headers of pax. All pure.
namespace ronde::data::files {

constexpr std::size_t kTarBlock = 512;

// A file inside a tar.
struct TarMember {
  std::string name;
  std::uint64_t header = 0;  // where its first header begins, those for long names included
  std::uint64_t offset = 0;  // where its bytes begin
  std::uint64_t size = 0;
};

// Goes through the files of a tar, in order; folders and links are passed by.
//
//   TarWalk walk(bytes, "a.tar");
//   while (auto member = walk.next()) ...
class TarWalk {
 public:
  TarWalk(std::string_view bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  // Nothing at the end. FAILS WITH: BadInput that names file and offset: cut off, a wrong checksum, a size or a
  // name that cannot be, a kind of file that is not known.
  std::optional<TarMember> next();
  std::uint64_t offset() const { return at_; }  // how far it has come

 private:
  struct Header;
  Header take_header();
  std::string_view take_bytes(std::uint64_t size, std::uint64_t header, std::string_view what);
  void take_pax(std::string_view records, std::uint64_t header);
  Error wrong(std::uint64_t at, std::string_view how) const;

  std::string_view bytes_;
  const std::string file_;
  std::uint64_t at_ = 0;
  std::uint64_t first_header_ = 0;
  bool closed_ = false;                    // an empty block came last
  std::optional<std::string> long_name_;   // for the next member
  std::optional<std::uint64_t> pax_size_;  // likewise
};

// Adds a file to a tar: a plain header, before it a pax header where the name is too long for one.
void append_tar_member(std::string& tar, std::string_view name, std::string_view bytes);
// What closes a tar: two empty blocks.
void append_tar_end(std::string& tar);

}  // namespace ronde::data::files
