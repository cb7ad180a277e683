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

// The texts of members that follow one another, of which many are the same: each run of equal ones is kept once, so
// that what a large job is told by all of its members is short where they agree.
class TextRuns {
 public:
  void add(std::string text, std::uint64_t times = 1);
  void add(const TextRuns& more);
  std::uint64_t texts() const { return texts_; }
  std::vector<std::string> all() const;  // one by one

  std::string write() const;
  // FAILS WITH: System for bytes that are none, or more than so many texts.
  static TextRuns read(std::string_view bytes, std::uint64_t most);

 private:
  struct Run {
    std::uint64_t times = 0;
    std::string text;
  };
  std::vector<Run> runs_;
  std::uint64_t texts_ = 0;
};

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
