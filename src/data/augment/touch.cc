#include "ronde/data/augment/touch.h"

#include "ronde/base/error.h"
#include "ronde/data/augment/touch_gpu.h"
#include "ronde/data/picture/bf16.h"

namespace ronde::data {
namespace {

void check(const Touching& touching) {
  constexpr int kMost = 1 << 20;
  const bool sizes = touching.from_height > 0 && touching.from_width > 0 && touching.height > 0 && touching.width > 0 &&
                     touching.from_height <= kMost && touching.from_width <= kMost && touching.height <= kMost &&
                     touching.width <= kMost;
  if (!sizes || touching.channels < 1 || touching.channels > static_cast<int>(PixelScale::kChannels) ||
      touching.pictures < 0)
    throw Error::bad_input("cannot make {} pictures of {} x {} pixels with {} channels from {} x {}", touching.pictures,
                           touching.height, touching.width, touching.channels, touching.from_height,
                           touching.from_width);
}

// Reads one picture by its touch.
class Picture {
 public:
  Picture(const Touching& touching, const std::uint8_t* from, const PictureTouch& touch)
      : touching_(touching), from_(from), touch_(touch) {}

  float value(int y, int x, int c) const {
    const int row = y + touch_.y, column = (touch_.mirrored ? touching_.width - 1 - x : x) + touch_.x;
    if (row < 0 || row >= touching_.from_height || column < 0 || column >= touching_.from_width) return 0;
    const auto pixel = static_cast<std::size_t>(row) * static_cast<std::size_t>(touching_.from_width) +
                       static_cast<std::size_t>(column);
    const auto channel = static_cast<std::size_t>(c);
    const float byte = from_[pixel * static_cast<std::size_t>(touching_.channels) + channel];
    const float product = byte * touching_.pixels.scale[channel];
    return product + touching_.pixels.shift[channel];
  }

 private:
  const Touching& touching_;
  const std::uint8_t* from_;
  const PictureTouch& touch_;
};

void put(float* into, float value) {
  *into = value;
}

void put(Bf16* into, float value) {
  *into = picture::to_bf16(value);
}

template <class T>
void touch_one(const Touching& touching, const Picture& own, const Picture& other, float share, T* into) {
  const bool planes = touching.layout == Layout::ChannelsFirst;
  const auto width = static_cast<std::size_t>(touching.width), height = static_cast<std::size_t>(touching.height);
  const auto channels = static_cast<std::size_t>(touching.channels);
  const float rest = 1 - share;
  for (int y = 0; y < touching.height; ++y)
    for (int x = 0; x < touching.width; ++x)
      for (int c = 0; c < touching.channels; ++c) {
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
void touch_all(const Touching& touching, const std::uint8_t* from, const PictureTouch* touches, T* into) {
  const std::size_t area = static_cast<std::size_t>(touching.from_height) *
                           static_cast<std::size_t>(touching.from_width) * static_cast<std::size_t>(touching.channels);
  const std::size_t made = static_cast<std::size_t>(touching.height) * static_cast<std::size_t>(touching.width) *
                           static_cast<std::size_t>(touching.channels);
  for (std::int64_t i = 0; i < touching.pictures; ++i) {
    const bool paired = (i ^ 1) < touching.pictures;
    const std::int64_t j = paired ? i ^ 1 : i;
    const Picture own(touching, from + static_cast<std::size_t>(i) * area, touches[i]);
    const Picture other(touching, from + static_cast<std::size_t>(j) * area, touches[j]);
    touch_one(touching, own, other, paired ? touches[i].share : 1, into + static_cast<std::size_t>(i) * made);
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

Touching Touching::of(const SampleKind& kind, std::int64_t pictures) {
  const auto height = static_cast<int>(kind.height), width = static_cast<int>(kind.width);
  return {.pictures = pictures,
          .channels = static_cast<int>(kind.channels),
          .from_height = height,
          .from_width = width,
          .height = height,
          .width = width,
          .pixels = kind.pixels};
}

std::size_t Touching::from_bytes() const {
  return static_cast<std::size_t>(pictures * channels) * static_cast<std::size_t>(from_height) *
         static_cast<std::size_t>(from_width);
}

std::size_t Touching::into_bytes() const {
  return static_cast<std::size_t>(pictures * channels) * static_cast<std::size_t>(height) *
         static_cast<std::size_t>(width) * (bf16 ? sizeof(Bf16) : sizeof(float));
}

void touch_pictures(const Touching& touching, const std::uint8_t* from, const PictureTouch* touches, void* into) {
  check(touching);
  if (touching.bf16)
    touch_all(touching, from, touches, static_cast<Bf16*>(into));
  else
    touch_all(touching, from, touches, static_cast<float*>(into));
}

void touch_pictures_on(const device::Stream& stream, const Touching& touching, const std::uint8_t* from,
                       const PictureTouch* touches, void* into) {
  if (stream.on_host()) return touch_pictures(touching, from, touches, into);
  check(touching);
  if (touching.pictures > 0) detail::touch_on_gpu(stream, touching, from, touches, into);
}

}  // namespace ronde::data
