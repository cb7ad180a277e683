// Where libpng was not found.
#include "ronde/base/error.h"
#include "ronde/data/picture/png.h"

namespace ronde::data::picture {
namespace {

[[noreturn]] void missing() {
  throw Error::bad_input("Ronde was built without libpng (Debian: libpng-dev) and cannot read PNGs");
}

}  // namespace

struct PngReader::State {};

PngReader::PngReader() = default;
PngReader::~PngReader() = default;

void PngReader::start(std::string_view, const Header&, const Window&, int) {
  missing();
}
int PngReader::row_pixels() const {
  return 0;
}
int PngReader::first() const {
  return 0;
}
int PngReader::read(std::uint8_t*, std::size_t, int) {
  missing();
}
void PngReader::finish() {}
std::size_t PngReader::used() const {
  return 0;
}

}  // namespace ronde::data::picture
