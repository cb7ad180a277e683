#include "ronde/models/detail/autoencoder.h"

#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry autoencoder_entry() {
  return {.names = {"autoencoder"},
          .help = "Gives back its input.",
          .make = make_plain<detail::Autoencoder>,
          .takes_filters = true};
}

}  // namespace ronde::models
