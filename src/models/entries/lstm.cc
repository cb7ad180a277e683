#include "ronde/models/detail/lstm.h"

#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry lstm_entry() {
  return {
      .names = {"lstm"}, .help = "Reads the rows of an input one after the other.", .make = make_plain<detail::Lstm>};
}

}  // namespace ronde::models
