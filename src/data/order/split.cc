#include "ronde/data/order/split.h"

#include <array>
#include <cmath>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/order/order.h"
#include "ronde/data/pipeline/split_by_key.h"
#include "ronde/data/records.h"
#include "ronde/data/stored_source.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kNoEpoch = -1;  // the order of the parts is that of no epoch

class Part : public Source {
 public:
  Part(std::unique_ptr<Source> whole, Range places, std::uint64_t seed)
      : whole_(std::move(whole)), places_(places), order_(whole_->size(), seed, kNoEpoch) {}

  std::string name() const override { return whole_->name(); }
  SampleKind kind() const override { return whole_->kind(); }
  std::int64_t size() const override { return places_.size(); }
  bool filled_once() const override { return whole_->filled_once(); }
  const StoredParts* stored() const override { return whole_->stored(); }
  std::int64_t stored_index(std::int64_t index) const override {
    return whole_->stored_index(order_[places_.begin + index]);
  }
  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override {
    whole_->read(order_[places_.begin + index], epoch, into);
  }

 private:
  const std::unique_ptr<Source> whole_;
  const Range places_;
  const Order order_;
};

class First : public Source {
 public:
  First(std::unique_ptr<Source> whole, std::int64_t samples) : whole_(std::move(whole)), samples_(samples) {}

  std::string name() const override { return whole_->name(); }
  SampleKind kind() const override { return whole_->kind(); }
  std::int64_t size() const override { return samples_; }
  bool filled_once() const override { return whole_->filled_once(); }
  const StoredParts* stored() const override { return whole_->stored(); }
  std::int64_t stored_index(std::int64_t index) const override { return whole_->stored_index(index); }
  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override {
    whole_->read(index, epoch, into);
  }

 private:
  const std::unique_ptr<Source> whole_;
  const std::int64_t samples_;
};

// The samples of a stored source whose keys fall into a share: the same ones when others are added.
class PartByKey : public Source {
 public:
  PartByKey(std::unique_ptr<Source> whole, double from, double to, std::uint64_t seed) : whole_(std::move(whole)) {
    const Records& records = *whole_->stored()->records;
    for (std::int64_t i = 0; i < whole_->size(); ++i) {
      const double percent = percent_of(records.key(whole_->stored_index(i)), seed);
      if (from <= percent && percent < to) places_.push_back(i);
    }
  }

  std::string name() const override { return whole_->name(); }
  SampleKind kind() const override { return whole_->kind(); }
  std::int64_t size() const override { return std::ssize(places_); }
  const StoredParts* stored() const override { return whole_->stored(); }
  std::int64_t stored_index(std::int64_t index) const override {
    return whole_->stored_index(places_[static_cast<std::size_t>(index)]);
  }
  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override {
    whole_->read(places_[static_cast<std::size_t>(index)], epoch, into);
  }

 private:
  const std::unique_ptr<Source> whole_;
  std::vector<std::int64_t> places_;
};

std::unique_ptr<Source> part_by_key(std::unique_ptr<Source> whole, double from, double to, std::uint64_t seed,
                                    const char* what) {
  const std::int64_t samples = whole->size();
  auto part = std::make_unique<PartByKey>(std::move(whole), from, to, seed);
  if (part->size() == 0)
    throw Error::bad_input("data.split gives {} % of {} samples to {}: less than one sample", to - from, samples, what);
  return part;
}

Parts parts_by_key(std::unique_ptr<Source> whole, const SourceOptions& plain, const SourceOptions& separate,
                   const Shares& shares, std::uint64_t seed) {
  // Files are opened once for all parts: what differs is how samples are decoded.
  const auto again = [&plain, records = whole->stored()->records] { return stored_as(plain, records); };
  const double first = shares.train, second = shares.train + shares.validation;
  Parts parts;
  parts.train = part_by_key(std::move(whole), 0, first, seed, "training");
  if (shares.validation > 0) parts.validation = part_by_key(again(), first, second, seed, "validation");
  parts.test = shares.test > 0 ? part_by_key(again(), second, 100, seed, "test") : open_source(separate);
  return parts;
}

}  // namespace

Shares parse_shares(std::string_view text) {
  const auto words = ronde::split(text, '/');
  std::array<double, 3> shares{};
  bool good = words.size() == shares.size();
  for (std::size_t i = 0; good && i < shares.size(); ++i) {
    const auto share = parse_number<double>(trim(words[i]));
    good = share && *share >= 0 && *share <= 100;
    if (good) shares[i] = *share;
  }
  if (!good || std::abs(shares[0] + shares[1] + shares[2] - 100) > 1e-9)
    throw Error::bad_input(
        "data.split must be the shares of training, validation and test in percent, for example 60/20/20, and add up "
        "to 100; got '{}'",
        text);
  if (shares[0] == 0) throw Error::bad_input("data.split is '{}', which leaves no samples for training", text);
  return {shares[0], shares[1], shares[2]};
}

Cuts cut(const Shares& shares, std::int64_t samples) {
  const auto place = [&](double percent) { return std::llround(static_cast<double>(samples) * percent / 100); };
  const std::int64_t first = place(shares.train), second = place(shares.train + shares.validation);
  const Cuts cuts{.train = {0, first}, .validation = {first, second}, .test = {second, samples}};
  const auto check = [&](const char* what, double share, const Range& range) {
    if (share > 0 && range.size() == 0)
      throw Error::bad_input("data.split gives {} % of {} samples to {}: less than one sample", share, samples, what);
  };
  check("training", shares.train, cuts.train);
  check("validation", shares.validation, cuts.validation);
  check("test", shares.test, cuts.test);
  return cuts;
}

std::unique_ptr<Source> part_of(std::unique_ptr<Source> whole, Range places, std::uint64_t seed) {
  return std::make_unique<Part>(std::move(whole), places, seed);
}

std::unique_ptr<Source> first_of(std::unique_ptr<Source> whole, std::int64_t samples) {
  return std::make_unique<First>(std::move(whole), samples);
}

Parts divided(const std::function<std::unique_ptr<Source>(Split)>& open, std::string_view split,
              std::uint64_t split_seed) {
  if (split.empty()) return {.train = open(Split::Train), .validation = nullptr, .test = open(Split::Test)};
  const Shares shares = parse_shares(split);
  auto whole = open(Split::Train);
  const Cuts cuts = cut(shares, whole->size());
  Parts parts{.train = part_of(std::move(whole), cuts.train, split_seed), .validation = nullptr, .test = nullptr};
  if (shares.validation > 0) parts.validation = part_of(open(Split::Train), cuts.validation, split_seed);
  parts.test = shares.test > 0 ? part_of(open(Split::Train), cuts.test, split_seed) : open(Split::Test);
  return parts;
}

Parts open_parts(const SourceOptions& options, std::int64_t test_samples, std::string_view split,
                 std::uint64_t split_seed) {
  SourceOptions plain = options;  // to be looked at, not to be learned from
  plain.augment = false;
  SourceOptions separate = plain;
  separate.split = Split::Test;
  separate.samples = test_samples;
  if (split.empty()) return {.train = open_source(options), .validation = nullptr, .test = open_source(separate)};

  const Shares shares = parse_shares(split);
  if (shares.test > 0 && comes_split(options))
    throw Error::bad_input(
        "data.split is '{}', but '{}' has its own test samples: the share of test must be 0, as in 90/10/0", split,
        options.name);
  auto whole = open_source(options);
  if (whole->stored()) return parts_by_key(std::move(whole), plain, separate, shares, split_seed);
  const Cuts cuts = cut(shares, whole->size());
  Parts parts{.train = part_of(std::move(whole), cuts.train, split_seed), .validation = nullptr, .test = nullptr};
  if (shares.validation > 0) parts.validation = part_of(open_source(plain), cuts.validation, split_seed);
  parts.test = shares.test > 0 ? part_of(open_source(plain), cuts.test, split_seed) : open_source(separate);
  return parts;
}

}  // namespace ronde::data
