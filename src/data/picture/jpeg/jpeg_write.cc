#include <algorithm>
#include <cstdlib>
#include <memory>

#include "ronde/base/error.h"
#include "ronde/data/picture/jpeg/jpeg_library.h"
#include "ronde/data/picture/reencode.h"

namespace ronde::data::picture {
namespace {

struct Writer {
  Writer() {
    escape.attach(info);
    if (!escape.guarded([&] { jpeg_create_compress(&info); })) fail();
  }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(memory);
  }
  Writer(const Writer&) = delete;
  [[noreturn]] void fail() { throw Error::bad_input("cannot write a JPEG: {}", escape.message()); }

  jpeg_compress_struct info{};
  JpegEscape escape;
  unsigned char* memory = nullptr;  // of malloc(), by the library
  unsigned long size = 0;
};

void set_style(jpeg_compress_struct& info, const JpegStyle& style) {
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, style.quality, TRUE);
  info.optimize_coding = style.optimise ? TRUE : FALSE;
  info.dct_method = JDCT_ISLOW;
  info.restart_in_rows = style.restart_rows;
  if (style.full_chroma && info.num_components >= 3)
    for (int i = 0; i < info.num_components; ++i) info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  if (style.progressive) jpeg_simple_progression(&info);
}

}  // namespace

std::string encode_jpeg(const Pixels& pixels, const JpegStyle& style) {
  if (pixels.width < 1 || pixels.height < 1 || pixels.width > JPEG_MAX_DIMENSION || pixels.height > JPEG_MAX_DIMENSION)
    throw Error::bad_input("a picture of {} x {} pixels cannot be written as a JPEG", pixels.width, pixels.height);
  Writer writer;
  jpeg_compress_struct& info = writer.info;
  const bool ok = writer.escape.guarded([&] {
    jpeg_mem_dest(&info, &writer.memory, &writer.size);
    info.image_width = static_cast<JDIMENSION>(pixels.width);
    info.image_height = static_cast<JDIMENSION>(pixels.height);
    info.input_components = pixels.channels;
    info.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : pixels.channels == 3 ? JCS_RGB : JCS_CMYK;
    set_style(info, style);
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < pixels.height; ++y) {
      JSAMPROW row = const_cast<JSAMPROW>(pixels.at(y));  // the library only reads it
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  if (!ok) writer.fail();
  return {reinterpret_cast<const char*>(writer.memory), writer.size};
}

}  // namespace ronde::data::picture
