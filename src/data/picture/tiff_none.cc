// Where libtiff was not found.
#include "ronde/base/error.h"
#include "ronde/data/picture/tiff.h"

namespace ronde::data::picture {
namespace {

[[noreturn]] void missing() {
  throw Error::bad_input("Ronde was built without libtiff 4.5 (Debian: libtiff-dev) and cannot read TIFFs");
}

}  // namespace

TiffHeader read_tiff_header(std::string_view) {
  missing();
}
TiffHeader read_tiff(std::string_view, std::vector<float>&, std::vector<std::uint8_t>&) {
  missing();
}
TiffHeader read_tiff_picture(std::string_view, std::vector<std::uint8_t>&, std::vector<std::uint8_t>&) {
  missing();
}
void check_is_picture(const TiffHeader&) {
  missing();
}
bool can_read_tiff() {
  return false;
}
std::size_t tiff_library_bytes(const TiffHeader&) {
  return 0;
}

}  // namespace ronde::data::picture
