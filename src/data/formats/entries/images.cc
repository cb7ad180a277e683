#include "ronde/data/formats/images/images.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry images_entry() {
  return {.name = "images",
          .open = files::open_images,
          .looks_like = files::looks_like_images,
          .make_writer = files::make_images_writer,
          .targets = "class, input"};
}

}  // namespace ronde::data
