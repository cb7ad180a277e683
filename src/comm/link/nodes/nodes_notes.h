#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What ranks of different nodes tell each other about a group, as bytes. All of it is pure.
namespace ronde::comm::detail {

std::string pack_texts(const std::vector<std::string>& texts);
// FAILS WITH: Bug for bytes that end within a length; a text that ends too early is taken as it is.
std::vector<std::string> unpack_texts(std::string_view bytes);

// A word about a group that nobody has asked for.
struct GroupNote {
  char kind = 0;
  std::uint64_t channel = 0;  // of the group
  std::uint64_t number = 0;   // of the combine() that it is about
  std::string_view rest = {};
};
std::string write_note(const GroupNote& note);
// Nothing for bytes that are none.
std::optional<GroupNote> read_note(std::string_view bytes);

// A member that has not come, and what it does meanwhile.
struct SilentMember {
  int member = 0;
  std::string doing = {};
};
std::string write_silent(const std::vector<SilentMember>& silent);
// Without those that a group of so many members has not. FAILS WITH: as unpack_texts().
std::vector<SilentMember> read_silent(std::string_view bytes, int members);

}  // namespace ronde::comm::detail
