#include "ronde/data/formats/images/picture_check.h"

#include "ronde/base/error.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/tiff.h"

namespace ronde::data::files {

bool is_encoded(const Array& image) {
  return image.type() == Type::U8 && image.shape().size() == 1;
}

bool is_decodable(const Array& image) {
  if (!picture::is_tiff(image.text())) return true;
  return picture::can_read_tiff() &&
         picture::read_tiff_header(image.text()).colours != picture::TiffHeader::Colours::None;
}

void check_picture(const Array& image) {
  if (image.empty()) throw Error::bad_input("the picture is an empty file");
  if (!picture::is_tiff(image.text()))
    picture::read_header(image.text());
  else if (picture::can_read_tiff())
    picture::read_tiff_header(image.text());  // numbers of other kinds than a picture's are somebody's data too
}

}  // namespace ronde::data::files
