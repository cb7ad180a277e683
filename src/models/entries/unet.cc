#include "ronde/models/detail/unet.h"

#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry unet_entry() {
  return {.names = {"unet"},
          .help = "A class for each pixel (Ronneberger et al.).",
          .make = make_plain<detail::UNet>,
          .takes_filters = true,
          .has_blocks = true};
}

}  // namespace ronde::models
