#include "ronde/data/samples/pictures.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"

namespace ronde::data::detail {
namespace {

constexpr int kMostShift = 4;  // pixels

class PictureSource : public Source {
 public:
  PictureSource(PictureSet set, std::int64_t size, const SourceOptions& options)
      : set_(std::move(set)),
        size_(size),
        seed_(options.seed),
        augment_(options.augment),
        flip_(options.picture.flip) {}

  std::string name() const override { return set_.name; }
  SampleKind kind() const override { return set_.kind; }
  std::int64_t size() const override { return size_; }

  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override {
    const std::uint8_t* picture = find(index);
    const auto plane = static_cast<std::size_t>(set_.kind.height * set_.kind.width);
    Change change = augment_ ? change_of(seed_, epoch, index) : Change{};
    change.mirror = change.mirror && flip_;
    for (std::size_t channel = 0; channel < set_.normals.size(); ++channel) {
      const Normal& normal = set_.normals[channel];
      const float scale = 1 / (255 * normal.deviation), shift = -normal.mean / normal.deviation;
      const std::uint8_t* from = picture + channel * plane;
      const auto to = into.features.subspan(channel * plane, plane);
      if (augment_)
        copy_changed(from, change, scale, shift, to.data());
      else
        for (std::size_t i = 0; i < plane; ++i) to[i] = static_cast<float>(from[i]) * scale + shift;
    }
    for (std::int64_t& label : into.classes) label = set_.labels[static_cast<std::size_t>(index)];
  }

 private:
  const std::uint8_t* find(std::int64_t index) const {
    auto run = set_.runs.begin();
    for (; index >= run->count; ++run) index -= run->count;
    return run->first + static_cast<std::size_t>(index) * run->stride;
  }

  void copy_changed(const std::uint8_t* from, const Change& change, float scale, float shift, float* to) const {
    const std::int64_t height = set_.kind.height, width = set_.kind.width;
    for (std::int64_t y = 0; y < height; ++y, to += width) {
      std::fill_n(to, width, 0.0f);
      const std::int64_t from_y = y - change.down;
      if (from_y < 0 || from_y >= height) continue;
      const std::uint8_t* row = from + from_y * width;
      for (std::int64_t x = std::max(0, change.right); x < std::min(width, width + change.right); ++x) {
        const std::int64_t from_x = x - change.right;
        to[x] = static_cast<float>(row[change.mirror ? width - 1 - from_x : from_x]) * scale + shift;
      }
    }
  }

  const PictureSet set_;
  const std::int64_t size_;
  const std::uint64_t seed_;
  const bool augment_, flip_;
};

// data.normalize, where somebody has set it; otherwise as is usual for the set.
std::vector<Normal> normals_of(const PictureSet& set, const SourceOptions& options) {
  if (options.normalize.empty()) return set.normals;
  const Normalization normal = parse_normalization(options.normalize, set.kind.channels);
  std::vector<Normal> normals;
  for (std::size_t i = 0; i < normal.mean.size(); ++i) normals.push_back({normal.mean[i], normal.deviation[i]});
  return normals;
}

}  // namespace

Change change_of(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
  Random random(seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(sample));
  const auto shift = [&] { return static_cast<int>(random.below(2 * kMostShift + 1)) - kMostShift; };
  return {.right = shift(), .down = shift(), .mirror = random.below(2) == 1};
}

void check_label(std::uint8_t label, std::int64_t classes, const std::string& file, std::int64_t sample,
                 std::size_t offset) {
  if (label >= classes)
    throw Error::bad_input("{}: sample {} (byte {}) has label {}, but there are {} classes, counted from 0", file,
                           sample, offset, label, classes);
}

std::unique_ptr<Source> make_picture_source(PictureSet set, const SourceOptions& options) {
  const auto all = static_cast<std::int64_t>(set.labels.size());
  if (options.samples > all)
    throw Error::bad_input("'{}' in {} has {} samples for {}, but {} were requested", set.name, options.path, all,
                           options.split == Split::Train ? "training" : "testing", options.samples);
  const std::int64_t size = options.samples == 0 ? all : options.samples;
  set.kind.target = options.target;
  set.normals = normals_of(set, options);
  return std::make_unique<PictureSource>(std::move(set), size, options);
}

}  // namespace ronde::data::detail
