#include "ronde/data/picture/jpeg/jpeg.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ronde/base/error.h"
#include "ronde/data/picture/jpeg/jpeg_library.h"
#include "ronde/data/picture/jpeg/jpeg_scan.h"

namespace ronde::data::picture {
namespace {

// Upsampled chroma depends on its neighbours, so the outermost columns that are decoded are not exact.
constexpr int kMargin = 2;
constexpr int kRowsAtATime = 16;

std::uint8_t times(int a, int b) {
  const int product = a * b + 128;
  return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
}

// Inks as Adobe stores them: inverted, 255 is none.
void inks_to_colours(std::uint8_t* pixels, int count, int channels) {
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* ink = pixels + 4 * i;
    const std::array<std::uint8_t, 3> colour = {times(ink[0], ink[3]), times(ink[1], ink[3]), times(ink[2], ink[3])};
    std::memcpy(pixels + 4 * i, colour.data(), 3);
  }
  if (channels == 1) colours_to_grey(pixels, count);
}

// Whether "end of image" comes anywhere in what has not been read.
bool has_end(std::string_view rest) {
  return rest.find("\xff\xd9") != std::string_view::npos;
}

}  // namespace

struct JpegReader::State {
  [[noreturn]] void fail() {
    const std::size_t at = scanned ? static_cast<std::size_t>(place_of(scan.at())) : bytes.size() - rest().size();
    jpeg_abort_decompress(&info);
    throw Error::bad_input("a damaged JPEG, at byte {} of {}: {}", at, bytes.size(), escape.message());
  }

  std::ptrdiff_t place_of(const std::uint8_t* byte) const { return reinterpret_cast<const char*>(byte) - bytes.data(); }

  // What has not been read, or less; but no marker is missing.
  std::string_view rest() const {
    if (scanned) return bytes.substr(static_cast<std::size_t>(place_of(scan.behind())));
    return {reinterpret_cast<const char*>(info.src->next_input_byte),
            std::min(bytes.size(), info.src->bytes_in_buffer)};
  }

  jpeg_decompress_struct info{};
  JpegEscape escape;
  JpegScan scan;
  bool scanned = false;  // by `scan`
  jpeg_progress_mgr progress{};
  std::string_view bytes;
  int channels = 3, row_pixels = 0, first = 0, left = 0;  // rows that are still to come
  bool inks = false;
};

JpegReader::JpegReader() : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.escape.attach(state.info);
  if (!state.escape.guarded([&] { jpeg_create_decompress(&state.info); }))
    throw Error(Error::Kind::System, fmt::format("libjpeg cannot start: {}", state.escape.message()));
  state.escape.watch_memory(*state.info.mem);
  state.progress.progress_monitor = stop_endless_scans;
  state.info.progress = &state.progress;
}

JpegReader::~JpegReader() {
  jpeg_destroy_decompress(&state_->info);
}

void JpegReader::start(std::string_view bytes, const Header& header, const Part& part) {
  State& state = *state_;
  jpeg_decompress_struct& info = state.info;
  jpeg_abort_decompress(&info);  // whatever the last picture came to
  state.escape.forget_used();
  state.bytes = bytes;
  state.channels = part.channels;
  state.inks = header.channels == 4;
  state.left = part.window.height;
  state.scanned = false;
  const bool ok = state.escape.guarded([&] {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info, TRUE);
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(part.shrink);
    info.out_color_space = state.inks ? JCS_CMYK : part.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_RGBX;
    info.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&info);
    state.scanned = !part.plain && state.scan.take(info, state.escape);
    const Window& window = part.window;
    JDIMENSION begin = static_cast<JDIMENSION>(std::max(0, window.left - kMargin));
    const JDIMENSION end = std::min(info.output_width, static_cast<JDIMENSION>(window.left + window.width + kMargin));
    JDIMENSION width = end - begin;
    if (width < info.output_width) jpeg_crop_scanline(&info, &begin, &width);
    if (state.scanned) {  // those that the library will transform
      const auto unit =
          static_cast<JDIMENSION>(8 * (info.comps_in_scan > 1 ? info.max_h_samp_factor : 1) / part.shrink);
      state.scan.want_columns(begin / unit, (begin + width + unit - 1) / unit);
    }
    state.first = window.left - static_cast<int>(begin);
    state.row_pixels = static_cast<int>(width);
    if (window.top > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(window.top));
  });
  if (!ok) state.fail();
}

int JpegReader::row_pixels() const {
  return state_->row_pixels;
}

int JpegReader::first() const {
  return state_->first;
}

int JpegReader::read(std::uint8_t* into, std::size_t stride, int most) {
  State& state = *state_;
  const int wanted = std::min({most, state.left, kRowsAtATime});
  std::array<JSAMPROW, kRowsAtATime> rows{};
  for (int i = 0; i < wanted; ++i) rows[static_cast<std::size_t>(i)] = into + static_cast<std::size_t>(i) * stride;
  int done = 0;
  const bool ok = state.escape.guarded([&] {
    while (done < wanted) {
      done += static_cast<int>(
          jpeg_read_scanlines(&state.info, rows.data() + done, static_cast<JDIMENSION>(wanted - done)));
    }
  });
  if (!ok) state.fail();
  if (state.inks)
    for (int i = 0; i < done; ++i) inks_to_colours(rows[static_cast<std::size_t>(i)], state.row_pixels, state.channels);
  state.left -= done;
  return done;
}

void JpegReader::finish() {
  State& state = *state_;
  // The end may have been met already: by what looked for more data, or because several scans were all taken in.
  const bool met = state.info.unread_marker == JPEG_EOI || jpeg_input_complete(&state.info);
  const bool cut_off = !met && !has_end(state.rest());
  jpeg_abort_decompress(&state.info);
  if (cut_off) throw Error::bad_input("a JPEG that is cut off after {} bytes", state.bytes.size());
}

std::size_t JpegReader::used() const {
  return state_->escape.used();
}

}  // namespace ronde::data::picture
