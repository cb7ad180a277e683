#include <algorithm>
#include <cmath>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/augment/augment.h"
#include "ronde/data/picture/choose.h"
#include "ronde/data/picture/crop_plan.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/jpeg/jpeg.h"
#include "ronde/data/picture/labels.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/pixel_rows.h"
#include "ronde/data/picture/png.h"
#include "ronde/data/picture/render.h"
#include "ronde/data/picture/tiff.h"
#include "ronde/data/picture/workspaces.h"

namespace ronde::data {
namespace picture {
namespace {

// All that a picture needs while it is decoded.
struct Workspace {
  JpegReader jpeg;
  PngReader png;
  std::vector<std::uint8_t> tiff, strip;
  PixelRows pixels;
  Resizer resizer;
  Renderer::Scratch row;

  std::size_t bytes() const {
    return resizer.bytes() + row.bytes() + png.used() + pixels.used() + tiff.capacity() + strip.capacity();
  }
};

// What lies in "image": encoded, or pixels.
Header header_of(const Array& image) {
  if (image.type() != Type::U8)
    throw Error::bad_input("'image' must be the bytes of a picture or u8[height,width,channels], got {}",
                           to_text(image.type(), image.shape()));
  const Shape& shape = image.shape();
  if (shape.size() == 1) return read_header(image.text());
  const std::int64_t channels = shape.size() == 3 ? shape[2] : shape.size() == 2 ? 1 : 0;
  constexpr std::int64_t kMost = 1 << 20;
  if (image.empty() || (channels != 1 && channels != 3 && channels != 4) || shape[0] > kMost || shape[1] > kMost)
    throw Error::bad_input("'image' must be the bytes of a picture or u8[height,width,channels], got {}",
                           to_text(image.type(), shape));
  return {.format = Format::Pixels,
          .width = static_cast<int>(shape[1]),
          .height = static_cast<int>(shape[0]),
          .channels = static_cast<int>(channels)};
}

// Mirroring comes last, so it may be left for later where nothing stands in between: no turn that it comes before, and
// no square that is blanked in the mirrored picture.
void leave_for_augment(Change& change, Augmentation& augmentation) {
  const bool later = change.flip && change.turns == 0 && change.cutout.width == 0;
  augmentation = {.mirrored = later ? 1 : 0};
  if (later) change.flip = false;
}

class PictureDecoder final : public Decoder {
 public:
  explicit PictureDecoder(PictureOptions options) : options_(std::move(options)), renderer_(options_) {
    if (options_.u8) pixels_ = pixel_scale(options_.normal);
  }

  bool draws() const override { return options_.augment; }
  SampleKind kind() const override {
    return {.channels = options_.channels,
            .height = options_.resolution,
            .width = options_.resolution,
            .classes = options_.classes,
            .target = options_.target,
            .layout = options_.layout,
            .bf16 = options_.bf16,
            .u8 = options_.u8,
            .pixels = pixels_};
  }

  std::size_t scratch_bytes(const Sample& stored, const Draw&) const override {
    const Header header = header_of(stored.at("image"));
    return library_bytes(header) + renderer_.scratch_bytes() +
           Resizer::bytes_for(header.width, header.height, options_.resolution, options_.resolution, renderer_.shape());
  }

  void decode(const Sample& stored, const Draw& draw, const SampleSpace& into) const override {
    typename Workspaces<Workspace>::Lease workspace(workspaces_);
    const Array& image = stored.at("image");
    const Header header = header_of(image);
    Change change =
        choose(options_, header.width, header.height,
               Random(draw.seed, static_cast<std::uint64_t>(draw.epoch), static_cast<std::uint64_t>(draw.index)));
    if (options_.u8) leave_for_augment(change, into.augmentation[0]);
    const CropPlan plan = plan_for(change.crop, header, options_.resolution);
    RowReader& reader = open(*workspace, image, header, plan);
    const bool backwards = Renderer::backwards(change);
    workspace->resizer.x.set(plan.window.width, plan.left, plan.width, options_.resolution, backwards);
    workspace->resizer.y.set(plan.window.height, plan.top, plan.height, options_.resolution);
    const Kernels& kernels = best_kernels();
    workspace->resizer.start(reader, renderer_.shape(), kernels);
    if (options_.u8)
      renderer_.render(workspace->resizer, change, workspace->row, into.features8.data(), kernels);
    else if (options_.bf16)
      renderer_.render(workspace->resizer, change, workspace->row, into.features16.data(), kernels);
    else
      renderer_.render(workspace->resizer, change, workspace->row, into.features.data(), kernels);
    reader.finish();
    write_target(stored, kind(), into);
  }

 private:
  RowReader& open(Workspace& workspace, const Array& image, const Header& header, const CropPlan& plan) const {
    const auto channels = static_cast<int>(options_.channels);
    switch (header.format) {
      case Format::Jpeg:
        workspace.jpeg.start(image.text(), header,
                             {.window = plan.window, .shrink = plan.shrink, .channels = channels});
        return workspace.jpeg;
      case Format::Png: workspace.png.start(image.text(), header, plan.window, channels); return workspace.png;
      case Format::Tiff: read_tiff_picture(image.text(), workspace.tiff, workspace.strip); break;
      case Format::Pixels: break;
    }
    const std::uint8_t* pixels =
        header.format == Format::Tiff ? workspace.tiff.data() : image.values<std::uint8_t>().data();
    workspace.pixels.start(pixels, header.width, header.channels, plan.window, channels);
    return workspace.pixels;
  }

  const PictureOptions options_;
  const Renderer renderer_;
  PixelScale pixels_;
  mutable Workspaces<Workspace> workspaces_;
};

void check(const PictureOptions& options) {
  if (options.resolution < 1 || options.resolution > 16384)
    throw Error::bad_input("data.resolution must be from 1 to 16384, got {}", options.resolution);
  if (options.channels != 1 && options.channels != 3)
    throw Error::bad_input("data.channels must be 3, or 1 for grey pictures, got {}", options.channels);
  const auto channels = static_cast<std::size_t>(options.channels);
  if (options.normal.mean.size() != channels || options.normal.deviation.size() != channels)
    throw Error::bad_input("data.normalize has {} means and {} deviations for {} channels", options.normal.mean.size(),
                           options.normal.deviation.size(), channels);
  for (const float deviation : options.normal.deviation)
    if (!(deviation > 0) || !std::isfinite(deviation))
      throw Error::bad_input("data.normalize: deviations must be above 0, got {}", deviation);
  if (!(options.crop.least > 0) || !(options.crop.least <= options.crop.most) || !(options.crop.most <= 1))
    throw Error::bad_input("data.crop_scale = {}/{}: shares must be above 0 and at most 1, the smallest first",
                           options.crop.least, options.crop.most);
  if (!(options.least_aspect > 0) || !(options.least_aspect <= options.most_aspect))
    throw Error::bad_input("invalid aspect ratio of crops: {} to {}", options.least_aspect, options.most_aspect);
  if (!(options.jitter >= 0 && options.jitter <= 1) || !(options.cutout >= 0 && options.cutout <= 1))
    throw Error::bad_input("data.jitter = {}, data.cutout = {}: both must be from 0 to 1", options.jitter,
                           options.cutout);
  if (options.target == Target::Mask)
    throw Error::bad_input("data.target = mask: stored pictures have a class or labels, not masks");
}

}  // namespace
}  // namespace picture

std::unique_ptr<Decoder> make_picture_decoder(PictureOptions options) {
  picture::check(options);
  if (options.channels == 1 && options.normal == PictureOptions().normal)
    options.normal = parse_normalization("imagenet", 1);
  if (options.u8) options.layout = Layout::ChannelsLast;
  options.bf16 = options.bf16 && !options.u8;
  return std::make_unique<picture::PictureDecoder>(std::move(options));
}

}  // namespace ronde::data
