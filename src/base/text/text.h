#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Small text helpers that several modules share. All are pure.
namespace ronde {

std::string_view trim(std::string_view text);

// "a|b|c" by '|' gives {"a", "b", "c"}; empty text gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// Whether the whole of `text` is what `pattern` says, in which * stands for any letters.
bool matches(std::string_view pattern, std::string_view text);

std::string join(std::span<const std::string> pieces, std::string_view separator);

// The number that the whole of a text is; nothing when any of it is something else.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// "1 core", "3 cores".
std::string counted(std::size_t number, std::string_view thing);

// How many letters must be added, removed, changed or swapped with a neighbour to make `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to a misspelt word, if one is near enough to be meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace ronde
