#include "ronde/data/formats/images/bigearthnet.h"

#include "ronde/data/formats/format_entry.h"

namespace ronde::data {

FormatEntry bigearthnet_entry() {
  return {.name = "bigearthnet",
          .open = files::open_bigearthnet,
          .looks_like = files::looks_like_bigearthnet,
          .targets = "labels, input"};
}

}  // namespace ronde::data
