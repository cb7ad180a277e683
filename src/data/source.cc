#include "ronde/data/source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/data/detail/cifar.h"
#include "ronde/data/detail/glyphs.h"
#include "ronde/data/detail/idx.h"
#include "ronde/data/detail/random_source.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 32;  // of one sample: 16 GiB

struct Known {
  std::string_view name;
  std::unique_ptr<Source> (*open)(const SourceOptions& options);
};

constexpr auto kKnown = std::to_array<Known>({
    {"glyphs", detail::open_glyphs},
    {"mnist", detail::open_mnist},
    {"cifar10", detail::open_cifar10},
    {"random", detail::open_random},
});

void check(const SourceOptions& options) {
  if (options.samples < 0) throw Error::bad_input("{} samples of '{}' were asked for", options.samples, options.name);
  if (options.classes < 2)
    throw Error::bad_input("'{}' needs 2 classes at least, not {}", options.name, options.classes);
  if (options.channels < 1 || options.resolution < 1)
    throw Error::bad_input("'{}' needs channels and a resolution of 1 at least, not {} and {}", options.name,
                           options.channels, options.resolution);
  if (options.resolution > 65536 || options.channels > kMostValues / (options.resolution * options.resolution))
    throw Error::bad_input("a sample of {} channels of {} x {} values is too large", options.channels,
                           options.resolution, options.resolution);
}

}  // namespace

std::vector<std::string> source_names() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  return names;
}

std::unique_ptr<Source> open_source(const SourceOptions& options) {
  check(options);
  for (const Known& known : kKnown)
    if (known.name == options.name) return known.open(options);
  const auto names = source_names();
  const auto meant = nearest(options.name, names);
  throw Error::bad_input("there is no data set '{}'; {}", options.name,
                         meant ? "did you mean " + *meant + "?" : "there are " + join(names, ", "));
}

}  // namespace ronde::data
