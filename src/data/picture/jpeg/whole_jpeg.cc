#include "ronde/data/picture/jpeg/whole_jpeg.h"

#include "ronde/base/error.h"
#include "ronde/data/picture/jpeg/jpeg_library.h"

namespace ronde::data::picture {

struct WholeJpeg::State {
  jpeg_decompress_struct info{};
  JpegEscape escape;
};

WholeJpeg::WholeJpeg() : state_(std::make_unique<State>()) {
  state_->escape.attach(state_->info);
  if (!state_->escape.guarded([&] { jpeg_create_decompress(&state_->info); }))
    throw Error(Error::Kind::System, fmt::format("libjpeg cannot start: {}", state_->escape.message()));
}

WholeJpeg::~WholeJpeg() {
  jpeg_destroy_decompress(&state_->info);
}

void WholeJpeg::decode(std::string_view bytes, std::vector<std::uint8_t>& into) {
  jpeg_decompress_struct& info = state_->info;
  const bool ok = state_->escape.guarded([&] {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
  });
  const std::size_t a_row = std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  if (ok && into.size() < a_row * info.output_height) into.resize(a_row * info.output_height);
  const bool done = ok && state_->escape.guarded([&] {
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = into.data() + info.output_scanline * a_row;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
  });
  if (done) return;
  jpeg_abort_decompress(&info);
  throw Error::bad_input("a damaged JPEG of {} bytes: {}", bytes.size(), state_->escape.message());
}

}  // namespace ronde::data::picture
