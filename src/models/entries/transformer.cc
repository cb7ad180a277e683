#include "ronde/models/detail/transformer.h"

#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry transformer_entry() {
  return {.names = {"transformer"},
          .help = "A vision transformer: reads patches of a picture (Dosovitskiy et al.).",
          .make = make_plain<detail::Transformer>,
          .has_blocks = true};
}

}  // namespace ronde::models
