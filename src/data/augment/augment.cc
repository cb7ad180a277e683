#include "ronde/data/augment/augment.h"

#include "ronde/base/error.h"
#include "ronde/data/augment/augment_gpu.h"
#include "ronde/data/picture/bf16.h"

namespace ronde::data {
namespace {

void check(const AugmentOptions& augment) {
  constexpr int kMost = 1 << 20;
  const bool sizes = augment.from_height > 0 && augment.from_width > 0 && augment.height > 0 && augment.width > 0 &&
                     augment.from_height <= kMost && augment.from_width <= kMost && augment.height <= kMost &&
                     augment.width <= kMost;
  if (!sizes || augment.channels < 1 || augment.channels > static_cast<int>(PixelScale::kChannels) ||
      augment.pictures < 0)
    throw Error::bad_input("cannot make {} pictures of {} x {} pixels with {} channels from {} x {}", augment.pictures,
                           augment.height, augment.width, augment.channels, augment.from_height, augment.from_width);
}

// Reads one picture by its augmentation.
class Picture {
 public:
  Picture(const AugmentOptions& augment, const std::uint8_t* from, const Augmentation& augmentation)
      : augment_(augment), from_(from), augmentation_(augmentation) {}

  float value(int y, int x, int c) const {
    const int row = y + augmentation_.y,
              column = (augmentation_.mirrored ? augment_.width - 1 - x : x) + augmentation_.x;
    if (row < 0 || row >= augment_.from_height || column < 0 || column >= augment_.from_width) return 0;
    const auto pixel = static_cast<std::size_t>(row) * static_cast<std::size_t>(augment_.from_width) +
                       static_cast<std::size_t>(column);
    const auto channel = static_cast<std::size_t>(c);
    const float byte = from_[pixel * static_cast<std::size_t>(augment_.channels) + channel];
    const float product = byte * augment_.pixels.scale[channel];
    return product + augment_.pixels.shift[channel];
  }

 private:
  const AugmentOptions& augment_;
  const std::uint8_t* from_;
  const Augmentation& augmentation_;
};

void put(float* into, float value) {
  *into = value;
}

void put(Bf16* into, float value) {
  *into = picture::to_bf16(value);
}

template <class T>
void augment_one(const AugmentOptions& augment, const Picture& own, const Picture& other, float share, T* into) {
  const bool planes = augment.layout == Layout::ChannelsFirst;
  const auto width = static_cast<std::size_t>(augment.width), height = static_cast<std::size_t>(augment.height);
  const auto channels = static_cast<std::size_t>(augment.channels);
  const float rest = 1 - share;
  for (int y = 0; y < augment.height; ++y)
    for (int x = 0; x < augment.width; ++x)
      for (int c = 0; c < augment.channels; ++c) {
        float value = own.value(y, x, c);
        if (share != 1) {
          const float mine = share * value, others = rest * other.value(y, x, c);
          value = mine + others;
        }
        const std::size_t pixel = static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x);
        const auto channel = static_cast<std::size_t>(c);
        put(into + (planes ? channel * height * width + pixel : pixel * channels + channel), value);
      }
}

template <class T>
void augment_all(const AugmentOptions& augment, const std::uint8_t* from, const Augmentation* augmentations, T* into) {
  const std::size_t area = static_cast<std::size_t>(augment.from_height) *
                           static_cast<std::size_t>(augment.from_width) * static_cast<std::size_t>(augment.channels);
  const std::size_t made = static_cast<std::size_t>(augment.height) * static_cast<std::size_t>(augment.width) *
                           static_cast<std::size_t>(augment.channels);
  for (std::int64_t i = 0; i < augment.pictures; ++i) {
    const bool paired = (i ^ 1) < augment.pictures;
    const std::int64_t j = paired ? i ^ 1 : i;
    const Picture own(augment, from + static_cast<std::size_t>(i) * area, augmentations[i]);
    const Picture other(augment, from + static_cast<std::size_t>(j) * area, augmentations[j]);
    augment_one(augment, own, other, paired ? augmentations[i].share : 1, into + static_cast<std::size_t>(i) * made);
  }
}

}  // namespace

PixelScale pixel_scale(const Normalization& normal) {
  if (normal.mean.size() > PixelScale::kChannels || normal.mean.size() != normal.deviation.size())
    throw Error::bad_input("got {} means and {} deviations, but pixels have at most {} channels", normal.mean.size(),
                           normal.deviation.size(), PixelScale::kChannels);
  PixelScale pixels;
  for (std::size_t c = 0; c < normal.mean.size(); ++c) {
    const double mean = normal.mean[c], deviation = normal.deviation[c];
    pixels.scale[c] = static_cast<float>(1 / (255 * deviation));
    pixels.shift[c] = static_cast<float>(-mean / deviation);
  }
  return pixels;
}

AugmentOptions AugmentOptions::of(const SampleKind& kind, std::int64_t pictures) {
  const auto height = static_cast<int>(kind.height), width = static_cast<int>(kind.width);
  return {.pictures = pictures,
          .channels = static_cast<int>(kind.channels),
          .from_height = height,
          .from_width = width,
          .height = height,
          .width = width,
          .pixels = kind.pixels};
}

std::size_t AugmentOptions::from_bytes() const {
  return static_cast<std::size_t>(pictures * channels) * static_cast<std::size_t>(from_height) *
         static_cast<std::size_t>(from_width);
}

std::size_t AugmentOptions::into_bytes() const {
  return static_cast<std::size_t>(pictures * channels) * static_cast<std::size_t>(height) *
         static_cast<std::size_t>(width) * (bf16 ? sizeof(Bf16) : sizeof(float));
}

void augment_pictures(const AugmentOptions& augment, const std::uint8_t* from, const Augmentation* augmentations,
                      void* into) {
  check(augment);
  if (augment.bf16)
    augment_all(augment, from, augmentations, static_cast<Bf16*>(into));
  else
    augment_all(augment, from, augmentations, static_cast<float*>(into));
}

void augment_pictures_on(const device::Stream& stream, const AugmentOptions& augment, const std::uint8_t* from,
                         const Augmentation* augmentations, void* into) {
  if (stream.on_host()) return augment_pictures(augment, from, augmentations, into);
  check(augment);
  if (augment.pictures > 0) detail::augment_on_gpu(stream, augment, from, augmentations, into);
}

}  // namespace ronde::data
