#include "ronde/data/samples/text_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/testing/folder.h"
#include "ronde/data/testing/sample.h"

namespace ronde::data::detail {
namespace {

// The letters of a text, read from the rows that the network gets.
std::vector<std::size_t> letters_of(const FilledSample& sample, std::size_t length) {
  std::vector<std::size_t> letters;
  for (std::size_t place = 0; place < length; ++place) {
    std::size_t found = 0, ones = 0;
    for (std::size_t letter = 0; letter < static_cast<std::size_t>(kAlphabet); ++letter) {
      const float value = sample.features[letter * length + place];
      if (value == 0) continue;
      EXPECT_NEAR(value * value, kAlphabet, 1e-4);
      found = letter;
      ++ones;
    }
    EXPECT_EQ(ones, 1u) << "one letter at each place";
    letters.push_back(found);
  }
  return letters;
}

TEST(Text, IsOneLetterARowAndTheSameForTheSameSeed) {
  const auto one = open_text({.classes = 4, .resolution = 20, .seed = 1}),
             again = open_text({.classes = 4, .resolution = 20, .seed = 1}),
             two = open_text({.classes = 4, .resolution = 20, .seed = 2});
  EXPECT_EQ(one->kind(), (SampleKind{.channels = 27, .height = 20, .width = 1, .classes = 4}));
  for (std::int64_t i = 0; i < 50; ++i) {
    const FilledSample sample = sample_of(*one, i);
    EXPECT_EQ(letters_of(sample, 20).size(), 20u);
    EXPECT_EQ(sample.classes, std::vector<std::int64_t>{i % 4});
    EXPECT_EQ(sample, sample_of(*again, i, 3));
    EXPECT_NE(sample, sample_of(*two, i));
    EXPECT_NE(sample, sample_of(*one, i + 4));
  }
}

TEST(Language, LettersComeAsOftenAsTheirWeightsSay) {
  const Language language(3);
  const std::int64_t before = 5;
  const std::uint64_t all = language.weight_after(before);
  std::vector<std::uint64_t> weights(static_cast<std::size_t>(kAlphabet));
  for (std::uint64_t number = 0; number < all; ++number)
    ++weights[static_cast<std::size_t>(language.letter(before, number))];
  EXPECT_GT(*std::ranges::min_element(weights), 0u) << "any letter may follow any other";
  EXPECT_EQ(language.letter(before, 0), 0);
  EXPECT_EQ(language.letter(before, all - 1), kAlphabet - 1);
}

// Which language a text is in can be told from its pairs of letters, better than from its letters alone.
TEST(Language, IsTold) {
  constexpr std::size_t kLetters = static_cast<std::size_t>(kAlphabet), kLength = 12, kLanguages = 8;
  const auto train = open_text({.classes = kLanguages, .resolution = kLength}),
             test = open_text({.split = Split::Test, .classes = kLanguages, .resolution = kLength});
  std::vector<std::array<double, kLetters>> singles(kLanguages);
  std::vector<std::array<double, kLetters * kLetters>> pairs(kLanguages);
  for (auto& counts : singles) counts.fill(1);
  for (auto& counts : pairs) counts.fill(0.1);
  for (std::int64_t i = 0; i < 8000; ++i) {
    const auto letters = letters_of(sample_of(*train, i), kLength);
    const std::size_t language = static_cast<std::size_t>(i) % kLanguages;
    for (std::size_t k = 0; k < kLength; ++k) {
      ++singles[language][letters[k]];
      if (k > 0) ++pairs[language][letters[k - 1] * kLetters + letters[k]];
    }
  }
  int by_singles = 0, by_pairs = 0;
  for (std::int64_t i = 0; i < 800; ++i) {
    const auto letters = letters_of(sample_of(*test, i), kLength);
    std::array<double, kLanguages> single{}, pair{};
    for (std::size_t language = 0; language < kLanguages; ++language)
      for (std::size_t k = 0; k < kLength; ++k) {
        single[language] += std::log(singles[language][letters[k]]);
        if (k > 0) pair[language] += std::log(pairs[language][letters[k - 1] * kLetters + letters[k]]);
      }
    const auto right = [i](const auto& likely) {
      return std::ranges::max_element(likely) - likely.begin() == i % static_cast<std::int64_t>(kLanguages);
    };
    by_singles += right(single);
    by_pairs += right(pair);
  }
  EXPECT_GT(by_pairs, by_singles + 40);
  EXPECT_GT(by_pairs, 600);
  EXPECT_LT(by_singles, 720);
}

TEST(Text, RefusesMoreLanguagesThanItKeeps) {
  EXPECT_EQ(message_of([] { (void)open_text({.classes = 1001}); }),
            "'text' has at most 1000 languages, but data.classes is 1001");
}

}  // namespace
}  // namespace ronde::data::detail
