#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace ronde::trace::detail {

// Gives each text of a file a small number from 1 up. Equal texts get one number, wherever they are stored; a text seen
// before at the same place costs one look-up by address. Not thread-safe. REQUIRES: the texts stay as long as the
// table.
class InternTable {
 public:
  struct Entry {
    std::uint64_t id;
    bool fresh;  // the first time that this text is seen
  };

  Entry find_or_add(const char* text) {
    const auto [place, new_place] = by_place_.try_emplace(text, 0);
    if (!new_place) return {place->second, false};
    const auto [known, fresh] = by_text_.try_emplace(std::string_view(text), by_text_.size() + 1);
    place->second = known->second;
    return {known->second, fresh};
  }

 private:
  std::unordered_map<const char*, std::uint64_t> by_place_;
  std::unordered_map<std::string_view, std::uint64_t> by_text_;
};

}  // namespace ronde::trace::detail
