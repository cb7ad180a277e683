#include "ronde/data/samples/text_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"
#include "ronde/data/samples/generated.h"

namespace ronde::data::detail {
namespace {

constexpr auto kLetters = static_cast<std::size_t>(kAlphabet);
constexpr std::int64_t kMostLanguages = 1000;  // each has a table of 3 KB
constexpr std::uint32_t kWeight = 5040,
                        kFlat = 12;             // the n-th most frequent letter, from 0, weighs kWeight / (kFlat + n)
constexpr std::uint32_t kFavour = 8;            // how much likelier it makes a letter that it likes to follow
constexpr std::size_t kFavourites = 3;          // of each letter
constexpr std::uint64_t kPurpose = 0x6c616e67;  // so that no other random numbers are these

// All letters, in an order of the language's own.
std::array<std::size_t, kLetters> shuffled(Random& random) {
  std::array<std::size_t, kLetters> letters{};
  std::iota(letters.begin(), letters.end(), std::size_t{0});
  for (std::size_t i = kLetters - 1; i > 0; --i) std::swap(letters[i], letters[random.below(i + 1)]);
  return letters;
}

class Text : public Source {
 public:
  explicit Text(const SourceOptions& options)
      : kind_{.channels = kAlphabet, .height = options.resolution, .width = 1, .classes = options.classes},
        size_(generated_size(options)),
        seed_(generated_seed(options)) {
    for (std::int64_t i = 0; i < options.classes; ++i) languages_.emplace_back(i);
  }

  std::string name() const override { return "text"; }
  SampleKind kind() const override { return kind_; }
  std::int64_t size() const override { return size_; }

  void read(std::int64_t index, std::int64_t, const SampleSpace& into) const override {
    const std::int64_t label = index % kind_.classes;
    const Language& language = languages_[static_cast<std::size_t>(label)];
    Random random(seed_, static_cast<std::uint64_t>(index));
    static const float kOne = std::sqrt(static_cast<float>(kAlphabet));
    std::ranges::fill(into.features, 0.0f);
    std::int64_t letter = kAlphabet;
    for (std::int64_t place = 0; place < kind_.height; ++place) {
      letter = language.letter(letter, random.below(language.weight_after(letter)));
      into.features[static_cast<std::size_t>(letter * kind_.height + place)] = kOne;
    }
    into.classes[0] = label;
  }

 private:
  const SampleKind kind_;
  const std::int64_t size_;
  const std::uint64_t seed_;
  std::vector<Language> languages_;
};

}  // namespace

Language::Language(std::int64_t number) : sums_((kLetters + 1) * kLetters) {
  Random random(kPurpose, static_cast<std::uint64_t>(number));
  const auto frequent = shuffled(random);
  std::array<std::uint32_t, kLetters> usual{};
  for (std::size_t place = 0; place < kLetters; ++place)
    usual[frequent[place]] = kWeight / (kFlat + static_cast<std::uint32_t>(place));
  for (std::size_t before = 0; before <= kLetters; ++before) {
    auto weights = usual;
    const auto liked = shuffled(random);
    if (before < kLetters)  // a text begins with any letter
      for (std::size_t i = 0; i < kFavourites; ++i) weights[liked[i]] *= kFavour;
    std::partial_sum(weights.begin(), weights.end(), sums_.begin() + static_cast<std::ptrdiff_t>(before * kLetters));
  }
}

std::uint64_t Language::weight_after(std::int64_t before) const {
  return sums_[(static_cast<std::size_t>(before) + 1) * kLetters - 1];
}

std::int64_t Language::letter(std::int64_t before, std::uint64_t number) const {
  const auto row = sums_.begin() + static_cast<std::ptrdiff_t>(before * kAlphabet);
  return std::upper_bound(row, row + kAlphabet, number) - row;
}

std::unique_ptr<Source> open_text(const SourceOptions& options) {
  if (options.classes > kMostLanguages)
    throw Error::bad_input("'text' has at most {} languages, but data.classes is {}", kMostLanguages, options.classes);
  return std::make_unique<Text>(options);
}

}  // namespace ronde::data::detail
