// Where libjpeg-turbo was not found.
#include "ronde/base/error.h"
#include "ronde/data/picture/jpeg/jpeg.h"
#include "ronde/data/picture/jpeg/whole_jpeg.h"
#include "ronde/data/picture/reencode.h"

namespace ronde::data::picture {
namespace {

[[noreturn]] void missing() {
  throw Error::bad_input("Ronde was built without libjpeg-turbo (Debian: libjpeg62-turbo-dev) and has no JPEG support");
}

}  // namespace

struct JpegReader::State {};

JpegReader::JpegReader() = default;
JpegReader::~JpegReader() = default;

void JpegReader::start(std::string_view, const Header&, const Part&) {
  missing();
}
int JpegReader::row_pixels() const {
  return 0;
}
int JpegReader::first() const {
  return 0;
}
int JpegReader::read(std::uint8_t*, std::size_t, int) {
  missing();
}
void JpegReader::finish() {}
std::size_t JpegReader::used() const {
  return 0;
}

struct WholeJpeg::State {};

WholeJpeg::WholeJpeg() = default;
WholeJpeg::~WholeJpeg() = default;
void WholeJpeg::decode(std::string_view, std::vector<std::uint8_t>&) {
  missing();
}

std::string encode_jpeg(const Pixels&, const JpegStyle&) {
  missing();
}

}  // namespace ronde::data::picture
