#include "ronde/data/files/picture_check.h"

#include "ronde/base/error.h"
#include "ronde/data/files/tar.h"
#include "ronde/data/picture/header.h"

namespace ronde::data::files {

bool is_encoded(const Array& image) {
  return image.type() == Type::U8 && image.shape().size() == 1;
}

bool is_decodable(const Array& image) {
  return picture_ending(image.text()) != "tif";
}

void check_picture(const Array& image) {
  if (image.empty()) throw Error::bad_input("the picture is an empty file");
  if (!is_decodable(image)) return;  // its header may lie anywhere; decoding looks for it
  picture::read_header(image.text());
}

}  // namespace ronde::data::files
