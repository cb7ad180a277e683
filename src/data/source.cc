#include "ronde/data/source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/images/cifar_source.h"
#include "ronde/data/formats/images/idx_source.h"
#include "ronde/data/samples/glyphs.h"
#include "ronde/data/samples/random_source.h"
#include "ronde/data/samples/text_source.h"
#include "ronde/data/stored_source.h"
#include "ronde/data/training/preparation.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 32;  // of one sample: 16 GiB

constexpr auto kTargets = std::to_array<std::string_view>({"class", "labels", "mask", "input", "values"});

struct Known {
  std::string_view name;
  std::unique_ptr<Source> (*open)(const SourceOptions& options);
  bool comes_split = false;
  bool stored = false;
  std::string_view targets = "class, labels, mask, input";
  Preparation preparation = Preparation::Drawn;  // stored: by what the samples turn out to be
};

// Besides the formats of format_entry.h.
constexpr auto kOwn = std::to_array<Known>({
    {.name = "glyphs", .open = detail::open_glyphs},
    {.name = "text", .open = detail::open_text, .targets = "class", .preparation = Preparation::Text},
    {.name = "mnist",
     .open = detail::open_mnist,
     .comes_split = true,
     .targets = "class, input",
     .preparation = Preparation::Digits},
    {.name = "cifar10",
     .open = detail::open_cifar10,
     .comes_split = true,
     .targets = "class, input",
     .preparation = Preparation::Shifted},
    {.name = "random", .open = detail::open_random},
});

std::vector<Known> all_known() {
  std::vector<Known> all(kOwn.begin(), kOwn.end());
  for (const FormatEntry& format : format_entries())
    if (!format.targets.empty())
      all.push_back({.name = format.name, .open = open_stored, .stored = true, .targets = format.targets});
  return all;
}

std::optional<Known> find(std::string_view name) {
  for (const Known& known : all_known())
    if (known.name == name) return known;
  return {};
}

void check_target(const Known& known, Target target) {
  const auto names = split(known.targets, ',');
  if (std::ranges::none_of(names, [&](std::string_view one) { return trim(one) == name(target); }))
    throw Error::bad_input("'{}' has no target '{}'; set data.target to one of {}", known.name, name(target),
                           known.targets);
}

void check(const SourceOptions& options, bool stored) {
  if (options.samples < 0)
    throw Error::bad_input("number of samples of '{1}' must not be negative, got {0}", options.samples, options.name);
  if (options.classes < 2)
    throw Error::bad_input("'{}' needs at least 2 classes, got {}", options.name, options.classes);
  const int least = stored ? 0 : 1;
  if (options.channels < least || options.resolution < least)
    throw Error::bad_input("'{}' needs channels and a resolution of at least 1, got {} and {}", options.name,
                           options.channels, options.resolution);
  if (options.resolution > 65536 ||
      (options.resolution > 0 && options.channels > kMostValues / (options.resolution * options.resolution)))
    throw Error::bad_input("a sample of {} channels of {} x {} values is too large", options.channels,
                           options.resolution, options.resolution);
}

}  // namespace

std::vector<std::string> source_names() {
  std::vector<std::string> names;
  for (const Known& known : all_known()) names.emplace_back(known.name);
  return names;
}

bool is_stored(std::string_view name) {
  const auto known = find(name);
  return known && known->stored;
}

bool comes_split(const SourceOptions& options) {
  const auto known = find(options.name);
  if (!known || !known->stored) return known && known->comes_split;
  SourceOptions test = options;
  test.split = Split::Test;
  return !stored_path(test).empty();
}

Preparation preparation_of(std::string_view name, const Source& source) {
  if (const StoredParts* stored = source.stored()) return stored_preparation(*stored->records);
  const auto known = find(name);
  return !known ? Preparation::Numbers : known->preparation;
}

std::string_view name(Target target) {
  return kTargets[static_cast<std::size_t>(target)];
}

Target parse_target(std::string_view text) {
  const auto found = std::ranges::find(kTargets, text);
  if (found == kTargets.end())
    throw Error::bad_input("data.target must be class, labels, mask or input, got '{}'", text);
  return static_cast<Target>(found - kTargets.begin());
}

std::unique_ptr<Source> open_source(const SourceOptions& options) {
  if (const auto known = find(options.name)) {
    check(options, known->stored);
    check_target(*known, options.target);
    return known->open(options);
  }
  const auto names = source_names();
  const auto meant = nearest(options.name, names);
  throw Error::bad_input("unknown data set '{}'; {}", options.name,
                         meant ? "did you mean " + *meant + "?" : "choose one of " + join(names, ", "));
}

}  // namespace ronde::data
