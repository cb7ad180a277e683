#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ronde/data/source.h"

namespace ronde::data::detail {

inline constexpr std::int64_t kAlphabet = 27;  // a to z and the space

// How a language is spoken: which letter follows which, as weights that add up along a row. In each language some
// letters are more frequent than others, and each letter has three that like to follow it; which ones, the number of
// the language says. Pure; no seed changes it.
class Language {
 public:
  explicit Language(std::int64_t number);

  // The letter that comes for a number below weight_after(before): 0 to kAlphabet - 1.
  // REQUIRES: 0 <= before <= kAlphabet, which stands for the beginning of a text.
  std::int64_t letter(std::int64_t before, std::uint64_t number) const;
  std::uint64_t weight_after(std::int64_t before) const;

 private:
  std::vector<std::uint32_t> sums_;  // of weights so far, a row for each letter before
};

// Texts of options.resolution letters in options.classes languages; sample i is of language i mod classes. A letter is
// a row of which one value is not 0, so that the shape is [kAlphabet, letters, 1]: a network that reads rows (lstm) or
// patches (transformer) reads one letter after the other. That value is the root of kAlphabet: the mean square of all
// is then 1, as in pictures.
// FAILS WITH: BadInput for more than 1,000 languages.
std::unique_ptr<Source> open_text(const SourceOptions& options);

}  // namespace ronde::data::detail
