#include <algorithm>
#include <cmath>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/images/bigearthnet.h"
#include "ronde/data/picture/bands_decoder.h"
#include "ronde/data/picture/bf16.h"
#include "ronde/data/picture/choose.h"
#include "ronde/data/picture/labels.h"
#include "ronde/data/picture/resize/resize.h"
#include "ronde/data/picture/tiff.h"
#include "ronde/data/picture/workspaces.h"

namespace ronde::data {
namespace picture {
namespace {

constexpr float kOne = 1 << kWeightBits;

struct Workspace {
  std::vector<float> values, wide, plane;  // as stored; resized along rows; resized
  std::vector<std::uint8_t> strip;
  Axis x, y;

  std::size_t bytes() const {
    return (values.capacity() + wide.capacity() + plane.capacity()) * sizeof(float) + strip.capacity() + x.bytes() +
           y.bytes();
  }
};

// A plane of any size to side x side, in floats: numbers of 16 bits are too many for fixed point.
void resize_plane(const float* from, int width, int height, int side, Workspace& workspace) {
  workspace.x.set(width, 0, width, side);
  workspace.y.set(height, 0, height, side);
  const auto out = static_cast<std::size_t>(side);
  workspace.wide.assign(out * static_cast<std::size_t>(height), 0.0f);
  workspace.plane.assign(out * out, 0.0f);
  const auto weight = [](const Axis& axis, int output, int tap) {
    return static_cast<float>(axis.pair(tap / 2, output)[tap % 2]) / kOne;
  };
  const Axis &x = workspace.x, &y = workspace.y;
  for (int i = 0; i < side; ++i) {
    const int begin = x.begin[static_cast<std::size_t>(i)], count = std::min(x.taps, width - begin);
    for (int row = 0; row < height; ++row) {
      const float* pixels = from + static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + begin;
      float sum = 0;
      for (int k = 0; k < count; ++k) sum += pixels[k] * weight(x, i, k);
      workspace.wide[static_cast<std::size_t>(row) * out + static_cast<std::size_t>(i)] = sum;
    }
  }
  for (int j = 0; j < side; ++j) {
    const int begin = y.begin[static_cast<std::size_t>(j)], count = std::min(y.taps, height - begin);
    float* into = workspace.plane.data() + static_cast<std::size_t>(j) * out;
    for (int k = 0; k < count; ++k) {
      const float* row = workspace.wide.data() + static_cast<std::size_t>(begin + k) * out;
      const float by = weight(y, j, k);
      for (std::size_t i = 0; i < out; ++i) into[i] += by * row[i];
    }
  }
}

class BandsDecoder final : public Decoder {
 public:
  explicit BandsDecoder(BandsOptions options) : options_(std::move(options)) {
    changes_.resolution = options_.resolution;
    changes_.augment = options_.augment;
    changes_.flip = options_.flip;
    changes_.rotate = options_.rotate;
    changes_.cutout = options_.cutout;
  }

  bool draws() const override { return options_.augment; }
  SampleKind kind() const override {
    return {.channels = static_cast<std::int64_t>(options_.bands.size()),
            .height = options_.resolution,
            .width = options_.resolution,
            .classes = options_.classes,
            .target = options_.target,
            .layout = options_.layout,
            .bf16 = options_.bf16};
  }

  std::size_t scratch_bytes(const Sample& stored, const Draw&) const override {
    const auto side = static_cast<std::size_t>(options_.resolution);
    std::size_t most = 0;
    for (const std::string& band : options_.bands) {
      const TiffHeader header = header_of(stored, band);
      const auto longer = static_cast<std::size_t>(std::max(header.width, header.height));
      const std::size_t axes = 2 * (side * 4 + 2 * (2 * longer + 6 * side)) + 8 * longer;
      most = std::max(most, tiff_library_bytes(header) + header.values() * 4 + header.piece_bytes +
                                4 * side * (static_cast<std::size_t>(header.height) + side) + axes);
    }
    return most;
  }

  void decode(const Sample& stored, const Draw& draw, const SampleSpace& into) const override {
    typename Workspaces<Workspace>::Lease workspace(workspaces_);
    const Change change =
        choose(changes_, options_.resolution, options_.resolution,
               Random(draw.seed, static_cast<std::uint64_t>(draw.epoch), static_cast<std::uint64_t>(draw.index)));
    for (std::size_t c = 0; c < options_.bands.size(); ++c) {
      const TiffHeader header = read_band(stored, options_.bands[c], *workspace);
      resize_plane(workspace->values.data(), header.width, header.height, options_.resolution, *workspace);
      if (options_.bf16)
        write(*workspace, change, c, into.features16.data());
      else
        write(*workspace, change, c, into.features.data());
    }
    write_target(stored, kind(), into);
  }

 private:
  static const Array& array_of(const Sample& stored, const std::string& band) {
    const Array& array = stored.at(band);
    if (array.type() != Type::U8 || array.shape().size() != 1)
      throw Error::bad_input("band '{}' must be the bytes of a TIFF, got {}", band,
                             to_text(array.type(), array.shape()));
    return array;
  }
  static TiffHeader header_of(const Sample& stored, const std::string& band) {
    return named(band, [&] { return read_tiff_header(array_of(stored, band).text()); });
  }
  static TiffHeader read_band(const Sample& stored, const std::string& band, Workspace& workspace) {
    return named(band, [&] {
      const TiffHeader header = read_tiff(array_of(stored, band).text(), workspace.values, workspace.strip);
      if (header.channels != 1)
        throw Error::bad_input("the TIFF of a band must have 1 channel, got {}", header.channels);
      return header;
    });
  }
  // Says of which band an error is.
  template <class Action>
  static TiffHeader named(const std::string& band, Action&& action) {
    try {
      return action();
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("band {}: {}", band, error.message()));
    }
  }

  template <class T>
  void write(const Workspace& workspace, const Change& change, std::size_t channel, T* out) const {
    const int side = options_.resolution, last = side - 1;
    const auto count = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    const bool planes = options_.layout == Layout::ChannelsFirst;
    const std::size_t step = planes ? 1 : options_.bands.size(), start = planes ? channel * count : channel;
    const float scale = 1.0f / options_.normal.deviation[channel], mean = options_.normal.mean[channel];
    const Window& cut = change.cutout;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        // Where the pixel at (x, y) of what comes out was before turning, and before mirroring.
        int from_x = x, from_y = y;
        if (change.turns == 1) from_x = y, from_y = last - x;
        if (change.turns == 2) from_x = last - x, from_y = last - y;
        if (change.turns == 3) from_x = last - y, from_y = x;
        if (change.flip) from_x = last - from_x;
        const bool blank = x >= cut.left && x < cut.left + cut.width && y >= cut.top && y < cut.top + cut.height;
        const float value = workspace.plane[static_cast<std::size_t>(from_y * side + from_x)];
        const float normal = blank ? 0.0f : (value - mean) * scale;
        T& into = out[start + static_cast<std::size_t>(y * side + x) * step];
        if constexpr (std::is_same_v<T, float>)
          into = normal;
        else
          into = to_bf16(normal);
      }
  }

  const BandsOptions options_;
  PictureOptions changes_;
  mutable Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace picture

// Of BigEarthNet-S2's patches as they are published, by its authors (BAND_STATS of
// git.tu-berlin.de/rsim/bigearthnet-models-tf, repeated by bigearthnet-common and seasonal-contrast); to two digits.
Normalization bigearthnet_normalization() {
  return {{340.77f, 429.94f, 614.22f, 590.24f, 950.68f, 1792.46f, 2075.47f, 2218.95f, 2266.46f, 2246.06f, 1594.43f,
           1009.33f},
          {554.81f, 572.42f, 582.88f, 675.89f, 729.90f, 1096.01f, 1273.45f, 1365.46f, 1356.14f, 1302.33f, 1079.19f,
           818.87f}};
}

std::unique_ptr<Decoder> make_bands_decoder(BandsOptions options) {
  if (options.bands.empty()) {
    for (const auto& band : files::kEarthBands) options.bands.emplace_back(band.name);
    if (options.normal.mean.empty()) options.normal = bigearthnet_normalization();
  }
  if (options.normal.mean.size() != options.bands.size() || options.normal.deviation.size() != options.bands.size())
    throw Error::bad_input("data.normalize has {} means and {} deviations for {} bands", options.normal.mean.size(),
                           options.normal.deviation.size(), options.bands.size());
  for (const float deviation : options.normal.deviation)
    if (!(deviation > 0) || !std::isfinite(deviation))
      throw Error::bad_input("data.normalize: deviations must be above 0, got {}", deviation);
  if (options.resolution < 1 || options.resolution > 4096)
    throw Error::bad_input("data.resolution must be from 1 to 4096 for bands, got {}", options.resolution);
  if (!(options.cutout >= 0 && options.cutout <= 1))
    throw Error::bad_input("data.cutout must be from 0 to 1, got {}", options.cutout);
  if (options.target == Target::Mask)
    throw Error::bad_input("data.target = mask: stored bands have a class or labels, not masks");
  return std::make_unique<picture::BandsDecoder>(std::move(options));
}

}  // namespace ronde::data
